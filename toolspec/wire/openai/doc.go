// Package openai translates to and from the Chat Completions format of OpenAI,
// which most other servers speak as well.
//
// It is pure, like toolspec/wire, and knows no client library; what it accepts from other servers
// beyond the published format is described at the code that accepts it. Clients and activities
// import it; workflows must not.
package openai
