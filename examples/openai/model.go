package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// model is at a server that speaks Chat Completions.
type model struct {
	url, name, key string
	http           *http.Client
}

// respond asks for the next message, and returns the stream of it.
func (m model) respond(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (io.ReadCloser, error) {
	body, err := json.Marshal(struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    json.RawMessage   `json:"tools,omitempty"`
		Stream   bool              `json:"stream"`
	}{m.name, messages, tools, true})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if m.key != "" {
		request.Header.Set("Authorization", "Bearer "+m.key)
	}
	response, err := m.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the model's server answers %s", response.Status)
	}
	return response.Body, nil
}
