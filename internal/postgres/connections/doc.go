// Package connections stores connections with their sealed secrets, grants, leases and
// refreshes. It must never see a secret that is not sealed. Package postgres imports it, and
// programs that read its rows.
package connections
