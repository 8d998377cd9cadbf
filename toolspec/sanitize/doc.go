// Package sanitize takes out of texts what can pose as something else to a model or a terminal: escape
// sequences, control, bidirectional and invisible characters, and the markers of chat formats.
//
// It must never do I/O, and never judge what a text says. Every package that shows texts of others to a
// model may import it.
package sanitize
