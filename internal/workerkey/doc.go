// Package workerkey signs with keys that only workers have. It signs data that passes through
// Temporal and comes back, because any client of the namespace could have written that data. It
// keeps the keys of the database in memory. It fetches them again when the newest key has signed
// for its time, or when a signature names an unknown key.
//
// A key must never be in a payload, a log line or an error. Only the composition root makes a ring;
// internal/postgres keeps the keys.
package workerkey
