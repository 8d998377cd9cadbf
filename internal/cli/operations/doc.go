// Package operations has the commands that run and check Pawl: worker, migrate, doctor, cache,
// verify-history and codec-server.
package operations
