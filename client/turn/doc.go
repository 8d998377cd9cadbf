// Package turn answers the tool calls of one response of a model: it reads the response in the
// provider's format, runs its calls through a client, and forms the messages that the next
// request adds.
//
// It must never bypass package client, and it never sends a request to a provider. Anybody may
// import it.
package turn
