// Package buildinfo says which build a program is: its release, its commit, the version of the plan of calls and the version of the
// schema that it needs.
//
// It must never read files or the environment. The health listener and the command version import it.
package buildinfo
