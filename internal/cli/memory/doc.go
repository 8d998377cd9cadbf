// Package memory holds the command memory: people list, read, search, write and delete the entries
// that tools keep for the sessions of the tenant.
//
// It must not decide what a tool may write. internal/cli imports it.
package memory
