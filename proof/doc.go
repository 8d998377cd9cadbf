// Package proof says who decided: it signs decisions and verifies the signatures.
//
// A proof is a JSON Web Token (RFC 7519) signed with Ed25519 (RFC 8037), of the type
// "pawl-decision+jwt". Its key id is the RFC 7638 thumbprint of the key, its subject
// the approver, its audience the tenant ("pawl:acme"), and its nonce the SHA-256 of
// the whole decision without the proof, so that it fits this one decision on this one
// request and digest.
//
// The package reads no clock and does no I/O: who asks says what time it is and which
// key is registered under the id. It is public because the services of approvers sign
// with it; it may be imported by anything above toolspec.
package proof
