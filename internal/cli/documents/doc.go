// Package documents has the JSON documents of calls and approvals that commands print with
// --json. Their names and their order are part of what users rely on.
package documents
