// Package audit holds the command audit: verifying the chains of the audit trail, exporting heads and events.
//
// It must not seal an event. internal/cli imports it.
package audit
