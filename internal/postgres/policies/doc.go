// Package policies stores the versions of policy, the pointers to the active version and to the
// shadow version, and the kill switches. A change sends a recheck to the affected calls, in the
// same transaction. The package must not judge a call. Package postgres imports it, and programs
// that read its rows.
package policies
