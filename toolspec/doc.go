// Package toolspec is Pawl's vocabulary: effects, codes, identities, the
// invocation and its result, decisions, and the definition of a tool.
//
// It holds pure values and imports nothing outside the standard library. It
// must never do I/O, read a clock, or know Temporal, Postgres or a JSON Schema
// library. Every other package may import it.
package toolspec
