// Package authztest has engines for tests: one that allows everything, which no
// program can link, and one that a test fills in. It also has the contract that every
// engine keeps. Only tests import it.
package authztest
