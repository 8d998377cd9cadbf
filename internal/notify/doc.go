// Package notify sends notices about approval requests to people and other programs: by a webhook
// that is signed as the Standard Webhooks specification says, and in the log.
//
// It must never send raw arguments, show a secret, or retry by itself: its caller retries, and
// knows across workers which notices are still to be sent. Only worker imports it.
package notify
