// Package policies keeps the versions of policy, the pointers to the active version and to
// the shadow version, and the kill switches. A change tells the calls that it touches to
// look again, in the same transaction. The package must not judge a call. Package postgres
// imports it, and programs that read its rows.
package policies
