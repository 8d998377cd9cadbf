// Package postgres reads the record of calls in Postgres for a client: outputs, the tools that
// workers have published, calls and approval requests.
//
// A program that opens a Database can read what its database user can read. A member of the role pawl_client reads the tenants that
// docs/postgres.md gives it; another user reads as an operator does: calls of every tenant. Each method takes a tenant and returns nothing
// of another tenant, but it does not check which person asks. A program that shows records to its users decides which tenant and which
// calls a user may see. The record has redacted arguments and outputs, and no credentials of connections in plain text.
//
// It must not write the record of a call. Watch and Append write rows of runs, and Triggers and TriggerQueue write events of
// triggers; everything else only reads. Package client never imports it, so that a program without a Database links no
// database driver.
package postgres
