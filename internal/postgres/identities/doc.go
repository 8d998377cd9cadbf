// Package identities stores relations and the keys of approvers, submitters and workers, and
// reports whether relations let an actor run a tool. It must not verify a signature. Package
// postgres imports it, and programs that read its rows.
package identities
