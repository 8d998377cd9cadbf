// Package script reads scripts of a shell for policy: which commands a script runs, and whether patterns of
// commands cover all of them.
//
// It never runs a command. A script with anything that a shell could expand or interpret is not plain, and no
// pattern covers it. Packages that read or judge policies may import it.
package script
