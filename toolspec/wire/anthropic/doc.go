// Package anthropic translates to and from the Messages format of Anthropic.
//
// It is pure, like toolspec/wire, and knows no client library. Blocks that it does not know stay in
// the assistant's message as they came. Clients and activities import it; workflows must not.
package anthropic
