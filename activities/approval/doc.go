// Package approval opens approval requests, verifies decisions on them and remembers
// approvals for later calls. The sender of a decision proves nothing: a decision counts
// only after this package has verified it.
package approval
