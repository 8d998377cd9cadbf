// Package devstack runs a real Temporal server and a real Postgres for `pawl demo`, `pawl dev` and the end-to-end tests.
//
// Both listen on free ports of 127.0.0.1 only. Postgres has a random password. The servers and their throwaway directories end with the
// program that started them, however it ends: Stop, Ctrl-C, a failed start or SIGKILL.
//
// It must never be used for production data. It must never read TEMPORAL_*, PAWL_DATABASE_URL, DATABASE_URL or PG* from the environment,
// nor pass them to a server, and never touch a server that it did not start. Only internal/devcli, internal/bench, internal/faultkit and
// tests import it.
package devstack
