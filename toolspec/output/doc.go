// Package output is the vocabulary of stored outputs: the values and streams of tools that are too large for a result. It says how an
// output is described and how a reader gets its chunks.
//
// It must never do I/O. It imports the standard library only. Tools, adapters and clients may import it.
package output
