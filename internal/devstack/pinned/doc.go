// Package pinned builds a program once from sources that a go.mod and a go.sum with a tool directive pin, and keeps it in the cache.
//
// It must never start a program that it builds or change anything outside the cache directory. Only internal/devstack imports it.
package pinned
