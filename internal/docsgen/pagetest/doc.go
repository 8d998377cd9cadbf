// Package pagetest reads the pages of the documentation: README.md and docs. It
// finds the code blocks of a page, and the comments in front of a block that say
// how a test checks it:
//
//	<!-- go          declarations that the Go block below refers to
//	<!-- sh          commands that run before the shell block below
//	<!-- serves: … the shell block below serves from when it prints the text on
//	<!-- not run: … the reason why no test runs the shell block below
//
// It must never check a block itself. Tests import it.
package pagetest
