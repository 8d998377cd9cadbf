// Package postgres puts the stores together that keep everything in Postgres, each in a package of its own by what it writes in one
// transaction: the record of calls, policies, connections, identities, the catalog. The Store is all of them on one pool: it implements
// activities.Records and judge.Policies, and answers the CLI's questions. A Relay and a Herald send what the outbox holds.
//
// A write about a call names (invocation, epoch) and is guarded by them in the database: where a guard refuses, nothing is written and
// the answer says why. It goes in one round trip, as one statement or as one implicit transaction of a batch whose first statement
// locks the invocation, so that the second one's snapshot misses nothing.
//
// SQL stands in the .sql files of the stores only, and is prepared against the migrated schema by a test of each. The packages must never
// store raw arguments, hold a transaction open while they call somebody else's code, or let the text of a server's error out: it can quote
// values.
//
// They are the only importers of pgx and goose besides the development stack. The worker and the doors may import them.
package postgres
