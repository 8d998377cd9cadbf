// Package fingerprinttest has the secrets and the encodings that the search for leaks is tested with: secrets as providers make them, and
// the ways in which servers, libraries and programs write a text into another one.
//
// It must never hold a secret that is one. Tests of every package that searches, redacts or verifies import it.
package fingerprinttest
