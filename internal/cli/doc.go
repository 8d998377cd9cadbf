// Package cli is the command line of Pawl: the root command, and Main, which runs it with the commands of the packages below.
// These are thin commands over the client, the record store and the worker. Text for people, JSON with --json for programs.
//
// It must hold no rule of the domain, and no command: each is in the package of its subject. Commands for development are in
// internal/devcli.
package cli
