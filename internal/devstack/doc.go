// Package devstack runs a real Temporal server and a real Postgres for `pawl demo`, `pawl dev` and the end-to-end tests.
//
// Both listen on 127.0.0.1 only, on free ports, Postgres with a random password. Whatever happens to the program that started
// them — Stop, Ctrl-C, a failed start, SIGKILL — they end with it, and so do their throwaway directories.
//
// It must never be used for production data, never read TEMPORAL_*, PAWL_DATABASE_URL, DATABASE_URL or PG* from the
// environment nor hand them to a server, and never touch a server that it did not start.
// Only internal/devcli, internal/bench, internal/faultkit and tests import it.
package devstack
