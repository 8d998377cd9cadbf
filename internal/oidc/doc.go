// Package oidc verifies ID tokens of OpenID Connect: of approvers who have signed in to decide, whose nonce is the hash of
// the decision, and of people who watch runs. It asks the issuers for their keys, keeps these for some minutes, and asks again when a token names a key that is new.
//
// It must never ask a clock whether a token holds, for that is judged by the database's; take a token for good while its issuer cannot
// be asked; or repeat the words of an issuer or a token in an error. docs/policy.md says whom a token names. Only worker imports it,
// and the command line for the nonce of a token and for people who watch.
package oidc
