// Package cli is the command line of Pawl: thin commands over the client, the
// record store, the worker and the development servers. Text for people, JSON
// with --json for programs.
//
// It must hold no rule of the domain. Commands for development are in internal/devcli.
package cli
