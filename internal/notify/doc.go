// Package notify tells people and other programs what became of approval requests: by a webhook that is signed in the manner of the Standard
// Webhooks specification, and in the log.
//
// It must never send raw arguments, show a secret, or try again by itself: whoever calls it does, and knows across workers what is still to
// be told. Only worker imports it.
package notify
