// Package secretfile reads files that hold secrets: small, regular, and readable by their owner
// only.
//
// It must never log or return what it read in an error. Adapters, worker and the command line import it.
package secretfile
