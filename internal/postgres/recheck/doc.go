// Package recheck sends a recheck signal to open calls, in the transaction of the change that
// requires it. It must not know what has changed. The stores whose changes affect calls import
// it.
package recheck
