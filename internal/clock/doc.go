// Package clock is the adapter that gives tools the host's clock and its time
// zone database.
//
// It must never be used for deadlines, leases or expiry: those compare the
// database's now(). Only composition roots may import it.
package clock
