// Package identities keeps who is who and who may: relations, the keys of approvers, of
// submitters and of workers. It answers whether relations let an actor run a tool. Package
// postgres imports it, and programs that read its rows.
package identities
