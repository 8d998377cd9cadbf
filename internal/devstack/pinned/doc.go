// Package pinned builds a program once from sources that are fixed to the byte, by a go.mod and a go.sum with a tool directive, and
// keeps it in the cache.
//
// It must never start what it builds and never change anything outside the cache directory. Only internal/devstack imports it.
package pinned
