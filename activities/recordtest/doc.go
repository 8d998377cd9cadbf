// Package recordtest is what the record of a call does from its first run to its
// end, as a table: admit, claim, check, settle, sweep, and the guards of epoch, run
// and claim id. Every implementation of activities.Records passes it, also those
// that tests use instead of Postgres.
package recordtest
