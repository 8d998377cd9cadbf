// Package outputs holds the command output: listing, reading, searching and deleting stored outputs of the tenant.
//
// It must not make references. internal/cli imports it.
package outputs
