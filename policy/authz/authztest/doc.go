// Package authztest has engines for tests: an engine that allows everything, which cannot be
// linked into a program, and an engine whose answers a test sets. It also has a test that every
// engine must pass. Only tests import the package.
package authztest
