// Package postgres combines the stores that use Postgres. Each store is a package of its own,
// split by what it writes in one transaction: the record of calls, policies, connections,
// identities, the catalog. Store combines all of them on one pool. It implements
// activities.Records and judge.Policies, and runs the reads of the CLI. Relay and Notices
// of package outbox deliver messages and notices.
//
// A write about a call names the invocation and the epoch, and the database checks both. If a
// check fails, nothing is written and the result gives the reason. A write takes one round trip:
// one statement, or one implicit transaction of a batch. The first statement of a batch locks
// the invocation, so that the snapshot of the next statement is complete.
//
// SQL is only in the .sql files of the stores. A test of each store prepares its statements on
// the migrated schema. The packages must never store raw arguments, hold a transaction open
// while they call code of other packages, or return the text of a server's error, because it can
// quote values.
//
// Only these packages and the development stack import pgx and goose. The worker, the
// commands and packages of client may import these packages.
package postgres
