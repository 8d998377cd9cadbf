// Package remote calls remote workers: processes of other programs that run tools. A request has a signature (RFC 9421)
// of a key that the process has too, and an answer counts only if the same key has signed it together with the signature of
// its request. A process that needs the credential of a connection redeems a lease, once, with such a request of its own.
//
// The package must never repeat a request, follow a redirect, or put a text that a peer sent into an error. A key must never
// be in an error or a log line. The worker imports it.
package remote
