// Package proof says who decided: it signs decisions and verifies the signatures.
//
// A proof is a JSON Web Token (RFC 7519) signed with Ed25519 (RFC 8037), of the type
// "pawl-decision+jwt". Its key id is the RFC 7638 thumbprint of the key, its subject the approver,
// and its audience the tenant ("pawl:acme"). Its nonce is the SHA-256 of the whole decision without
// the proof, so a proof fits only one decision on one request and digest.
//
// The package reads no clock and does no I/O: the caller passes the time, and the key that is
// registered under the key id. The package is public because the services of approvers sign with
// it. Anything above toolspec may import it.
package proof
