// Package redact takes secrets out of what is about to leave: log records and errors.
//
// It knows them in two ways: by type, where a value says of itself that it is a secret ([Secret]), and by the fingerprints of the secrets
// that are alive. What it takes out leaves [fingerprint.Redacted] in its place. It must never log anything itself.
//
// It stands beside broker and uses the standard library only; whoever logs, or hands an error on, may import it.
package redact
