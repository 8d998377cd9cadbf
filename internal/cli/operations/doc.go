// Package operations has the commands that run and check Pawl: worker, migrate, doctor, cache,
// verify-history, codec-server, serve, report and version.
package operations
