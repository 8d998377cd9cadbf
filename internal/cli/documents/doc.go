// Package documents has the JSON documents of calls and approvals that commands print with
// --json. Users rely on the names and the order of their fields.
package documents
