// Package sourcetest tests that a source of tools keeps the contract of package source.
//
// It must not test what the tools do. Tests of sources import it, also those of users.
package sourcetest
