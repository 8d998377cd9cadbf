// Package read reads parts of stored outputs: lines, bytes, the value at a JSON pointer, and lines that match a pattern. It holds a
// few chunks of an output in memory, whatever the size of the output is, and every result has a bound in bytes.
//
// It must never do I/O itself: it reads through output.Reader. It does not decide who may read an output. Tools, clients and commands
// may import it.
package read
