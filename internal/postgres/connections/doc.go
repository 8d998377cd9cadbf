// Package connections keeps connections with their sealed secrets, who may use them, and
// their leases and refreshes. It never sees a secret that is not sealed. Package postgres
// imports it, and programs that read its rows.
package connections
