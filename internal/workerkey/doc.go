// Package workerkey signs with keys that only workers have: what goes through
// Temporal and comes back, where anybody in the namespace could have made it up.
// It keeps the keys of the database in memory, and fetches them again when the
// newest has signed for its time, or when a signature names one that it lacks.
//
// A key must never stand in a payload, a log line or an error. Only the
// composition root makes a ring; internal/postgres keeps the keys.
package workerkey
