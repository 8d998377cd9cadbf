// Package workerkeytest keeps the keys of workers in memory, for tests without a
// database.
package workerkeytest
