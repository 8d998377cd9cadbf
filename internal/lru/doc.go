// Package lru holds a bounded number of values in memory.
//
// It must never make a value or decide how long a value is good. Every package that keeps
// values in memory may import it.
package lru
