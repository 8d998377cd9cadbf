// Package suggest finds the name that was probably meant.
//
// It must never know what the names are for. The packages below policy import it for their
// messages.
package suggest
