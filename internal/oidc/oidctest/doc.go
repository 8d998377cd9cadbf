// Package oidctest is a provider of OpenID Connect in the process of a test: it serves its metadata and its keys, and signs real tokens.
// Only tests may import it.
package oidctest
