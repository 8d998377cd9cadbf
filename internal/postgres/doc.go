// Package postgres keeps the record of every call in Postgres: the Store implements activities.Records and judge.Policies, answers
// the CLI's questions, and the Relay sends what the outbox holds.
//
// A write about a call names (invocation, epoch) and is guarded by them in the database: where a guard refuses, nothing is written and
// the answer says why. It goes in one round trip, as one statement or as one implicit transaction of a batch whose first statement
// locks the invocation, so that the second one's snapshot misses nothing.
//
// SQL stands in queries/*.sql only, and is prepared against the migrated schema by a test. The package must never store raw arguments,
// hold a transaction open while it calls somebody else's code, or let the text of a server's error out: it can quote values.
//
// It is the only importer of pgx and goose besides the development stack. The worker and the doors may import it.
package postgres
