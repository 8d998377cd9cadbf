// Package recordtest tests an implementation of activities.Records with a table of cases: admit, claim, check,
// settle and sweep, and the guards of epoch, run and claim id. Every implementation must pass it, including the
// fakes that tests use instead of Postgres.
package recordtest
