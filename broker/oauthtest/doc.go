// Package oauthtest is an authorization server for tests, over a real socket: codes with PKCE (RFC 6749, RFC 7636), client credentials,
// refresh tokens that rotate and whose reuse kills their family, revocation (RFC 7009), and all the ways to be slow and to fail.
//
// It signs nothing and asks nobody for consent: only tests may import it.
package oauthtest
