// Package fingerprint finds secrets in text. It searches for every encoding in which one of many
// secrets may be written, and removes the matches from text that is about to be sent or stored.
//
// A fingerprint holds no secret. A [Set] keeps keyed digests, and a match names the secret by its
// label and the encoding, without any byte of the secret or of the text around it. The package must
// never log, print or return a secret or the text that it searches.
//
// It uses the standard library only and does not import broker. Packages that register live
// secrets, redact or verify import it.
package fingerprint
