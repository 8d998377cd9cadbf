// Package provide finds what hooks and tools need by typed tokens, in three scopes: request, session, global; the first match wins.
//
// What crosses processes is a Recipe, which names a factory and its arguments, and never an instance: every process makes its own. A recipe
// stands in histories and rows in clear, so it holds no secret; credentials are the broker's matter.
//
// The package must not do I/O nor keep process-wide state. Hooks reach it through their views, tools through capabilities that a token backs.
package provide
