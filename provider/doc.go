// Package provider asks a model: it sends one request to a provider of models, in one of the formats of
// toolspec/wire, and reads the streamed response.
//
//	answer, err := provider.Ask(ctx, httpClient, base, provider.Request{
//		Codec: anthropic.Codec{}, Model: "claude-sonnet-4-5", Messages: messages, Tools: offer.Tools, MaxTokens: 4096,
//	}, func(text string) { fmt.Print(text) })
//
// The HTTP client adds the credential, such as that of a connection (capability.Clients). This package sees no
// credential, keeps nothing between requests, logs nothing, and runs no tool: package client/turn runs the calls
// of a response. Anybody may import it.
package provider
