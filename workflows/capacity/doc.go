// Package capacity runs the stages at which a call may have to wait: for tokens of a
// quota, for a slot at a semaphore, for the secrets of a connection, or for the value of
// another call.
package capacity
