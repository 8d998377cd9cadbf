package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// model is at a server that speaks Chat Completions.
type model struct {
	base *url.URL
	name string
	http *http.Client
}

// respond asks for the next message, and returns the stream of it.
func (m model) respond(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (io.ReadCloser, error) {
	return provider.Open(ctx, m.http, m.base, provider.Request{Codec: openai.Codec{}, Model: m.name, Messages: messages, Tools: tools})
}

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}
