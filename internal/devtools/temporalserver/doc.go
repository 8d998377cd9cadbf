// Package temporalserver pins the Temporal server, and the tool that prepares its databases, for measurements on a full server.
//
// It is a module of its own, as internal/devtools is, and beside it: the CLI and the server must not have to agree on versions. It must never
// hold code. Nobody imports it: internal/devstack/temporalserver embeds copies of go.mod and go.sum.
package temporalserver
