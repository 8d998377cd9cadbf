// Package source is the contract of places that tools come from.
//
// It holds the contract only. It must never bind, publish or run a tool: the worker does that. Every
// package that provides tools may import it.
package source
