// Package policies keeps the versions of policy, which of them is active, which one is
// asked beside it, and the kill switches. A change of what calls may do tells the calls
// under way to look again, in the same transaction. It never judges a call. Package
// postgres imports it, and programs that read its rows.
package policies
