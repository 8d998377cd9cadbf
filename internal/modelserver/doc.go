// Package modelserver is a scripted provider of models on loopback: it speaks the five formats of
// toolspec/wire, streamed, with the events that each provider sends.
//
//	s := modelserver.Serve(t, "anthropic", modelserver.Script(
//		modelserver.Reply{Calls: []modelserver.Call{{Name: "core__ls", Args: `{"path":"."}`}}},
//		modelserver.Reply{Text: "There are two files."},
//	))
//	answer, err := provider.Ask(ctx, http.DefaultClient, s.URL, request, nil)
//
// As a provider does, it refuses a conversation whose calls and results do not match, or that lacks the reasoning
// which has to come back. It is for tests and for development: no program for production links it.
package modelserver
