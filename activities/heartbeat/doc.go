// Package heartbeat sends the heartbeats of a running activity and reports whether the
// worker of the activity is stopping.
package heartbeat
