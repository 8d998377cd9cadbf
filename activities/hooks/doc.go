// Package hooks holds Pawl's own hooks: policy and approval, redaction, audit.
// They stand on stages like anybody's, and only refuse with codes of the table.
//
// They must never keep state between calls. The worker seats them.
package hooks
