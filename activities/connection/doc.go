// Package connection leases the connection of a call to its attempts.
package connection
