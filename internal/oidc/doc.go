// Package oidc verifies the ID tokens of OpenID Connect with which an approver signs in to decide,
// and of people who watch runs. The nonce of an approver's token is the hash of the decision. The package reads the keys of the issuers,
// keeps them for some minutes, and reads them again if a token names an unknown key.
//
// It must never use a clock of its own to decide whether a token is valid: the database's clock
// decides. It must never accept a token whose issuer cannot be asked for its keys, and never repeat
// text of an issuer or a token in an error. docs/policy.md says which approver a token names. Only
// worker imports it, and the command line for the nonce of a token and for people who watch.
package oidc
