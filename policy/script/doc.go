// Package script reads scripts of a shell for policy: which commands a script runs, and whether patterns of commands cover all of them.
//
// It never runs a command, and never takes a script for plainer than a shell does: what it does not know, no pattern matches. Packages that
// read or judge policies may import it.
package script
