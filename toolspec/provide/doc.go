// Package provide finds what hooks and tools need by typed tokens, in three scopes: request, session, global; the first match wins.
//
// Only a Recipe crosses processes. It names a factory and its arguments. An instance never crosses processes: every process makes its own. A recipe
// is in histories and rows in clear text, so it holds no secret. Credentials belong to the broker.
//
// The package must not do I/O nor keep process-wide state. Hooks reach it through their views, tools through capabilities that a token backs.
package provide
