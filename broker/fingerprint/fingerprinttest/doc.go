// Package fingerprinttest has the secrets and the encodings with which the search for leaks is tested: secrets in the shapes that
// providers use, and the ways in which servers, libraries and programs write a text into another text.
//
// It must never hold a real secret. Tests of every package that searches, redacts or verifies import it.
package fingerprinttest
