// Package presence keeps the row of a running worker in the database, and publishes the tools that the worker has. It
// must not decide which tools a worker has.
package presence
