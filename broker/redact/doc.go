// Package redact removes secrets from log records and errors before they leave the process.
//
// It knows secrets in two ways: by type, if a value declares itself a secret ([Secret]), and by the
// fingerprints of the live secrets. It replaces each secret by [fingerprint.Redacted]. It must
// never log anything itself.
//
// It uses the standard library and fingerprint only. Packages that log or pass errors on may import
// it.
package redact
