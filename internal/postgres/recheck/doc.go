// Package recheck tells unsettled calls to look again, in the transaction of the change
// that is the reason. The stores whose changes touch calls import it.
package recheck
