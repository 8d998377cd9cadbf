// Package outputs holds the command output: listing, reading, searching and deleting stored outputs of the tenant.
//
// It must not store an output or make a reference to an output: workers do. internal/cli imports it.
package outputs
