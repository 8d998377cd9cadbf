// Package fingerprint knows secrets by what they leave behind: it searches text for every way in which one of many secrets may be
// written, and takes what it finds out of text that is about to go somewhere.
//
// A fingerprint holds no secret: a [Set] keeps keyed digests, and a match names the secret by its label and the way it was written,
// never a byte of it or of what stands around it. The package must never log, print or return what it was given to look for.
//
// It stands beside broker and uses the standard library only. Whoever registers live secrets, redacts or verifies imports it.
package fingerprint
