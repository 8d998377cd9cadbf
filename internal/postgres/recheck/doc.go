// Package recheck tells unsettled calls to look again, in the transaction of the change
// that is the reason. It must not know what has changed. The stores whose changes touch
// calls import it.
package recheck
