// Package cli is the command line of Pawl. It has the root command, and Main, which runs the root
// command with the commands of the packages below. The commands are thin layers over the client,
// the record store and the worker. They print text for people, and JSON with --json for programs.
//
// It must hold no rule of the domain and no command. Each command is in the package of its
// subject. Commands for development are in internal/devcli.
package cli
