// Package strictjson reads JSON in one way only, and writes the canonical form that
// digests are taken of (RFC 8785). A text that two readers could read differently is
// refused: a repeated name, bad UTF-8, half of a surrogate pair, a number that no
// float64 holds.
//
// It imports nothing of Pawl, does no I/O, and puts no value of a text into a fault.
// Texts are hostile: nesting is bounded, and reading takes time linear in the length.
// jsontext quotes strings and lays out numbers for it, and is the oracle of its tests.
package strictjson
