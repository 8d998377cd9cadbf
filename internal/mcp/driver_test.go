package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/source"
)

// scenarioVariable and contextVariable are how the conformance suite of the protocol tells a client what to do.
const (
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	contextVariable  = "MCP_CONFORMANCE_CONTEXT"
)

// scenarioContext is what a scenario tells its client.
type scenarioContext struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// scenarioArgs are the arguments of calls by tool; a call of another tool has none.
var scenarioArgs = map[string]string{"add_numbers": `{"a":5,"b":3}`}

// driveScenario is the main function of a client that the suite starts: it runs a source, reviews each tool and calls
// it. With a scenario about authorization, a person signs in before that, as with pawl connections signin.
func driveScenario(scenario, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) //nolint:forbidigo // it is the main function of a client, not a test
	defer cancel()
	var given scenarioContext
	if text := os.Getenv(contextVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	s := Server{ID: "srv", Transport: Streamable, URL: address, StartTimeout: 10 * time.Second}
	var token string
	if strings.HasPrefix(scenario, "auth/") {
		var err error
		if token, err = signIn(ctx, address, given); err != nil {
			return err
		}
		s.TokenFrom = "TOKEN"
	}
	reviews := newReviews()
	src, err := NewSource(s, Options{Reviews: reviews, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Lookup: func(string) (string, bool) { return token, true }})
	if err != nil {
		return err
	}
	src.timing.first = 100 * time.Millisecond
	offers := make(chan source.Offer, 100)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- src.Run(running, func(o source.Offer) { offers <- o }) }()
	defer func() {
		stop()
		<-done
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-offers:
			fresh := 0
			for _, tool := range o.Tools {
				if d := tool.Definition().Discovered; d.Review == "" {
					reviews.set(s.ID, d.Name, policy.MCPReview{Digest: d.Digest, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Allow: []string{""}})
					fresh++
				}
			}
			if fresh > 0 || o.Fault != "" && len(o.Tools) == 0 && o.Fault != errNoTools.Error() && !strings.Contains(o.Fault, "left out") {
				continue
			}
			return callAll(ctx, o.Tools, given)
		}
	}
}

// callAll makes the calls of a scenario, or a call of each tool.
func callAll(ctx context.Context, tools []toolspec.Tool, given scenarioContext) error {
	var failed error
	for _, tool := range tools {
		if tool.Definition().Discovered.Name != "json_schema_2020_12_tool" {
			continue
		}
		// The scenario wants to see the schema as the client has it.
		input, _, _ := tool.Documents()
		scenarioArgs["json_schema_echo"] = `{"schema":` + string(input) + `}`
	}
	for _, tool := range tools {
		name := tool.Definition().Discovered.Name
		all := []json.RawMessage{}
		for _, c := range given.ToolCalls {
			if c.Name == name {
				all = append(all, c.Arguments)
			}
		}
		if len(given.ToolCalls) == 0 {
			args := json.RawMessage(`{}`)
			if text, ok := scenarioArgs[name]; ok {
				args = json.RawMessage(text)
			}
			all = append(all, args)
		}
		for _, args := range all {
			caps, err := toolspec.NewCapabilities(capability.ProgressKey.Provide(&reports{some: make(chan struct{}, 1)}))
			if err != nil {
				return err
			}
			if _, err := tool.Run(ctx, args, toolspec.Call{ToolID: tool.Definition().ID}.WithCapabilities(caps)); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
				failed = err
			}
		}
	}
	return failed
}

// signIn signs in as the command signin does, with a browser that consents.
func signIn(ctx context.Context, address string, given scenarioContext) (string, error) {
	found, err := FindAuthorization(ctx, address, http.DefaultClient)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	p := broker.Provider{ID: "test", Kind: broker.OAuth, Hosts: []string{u.Host}, Insecure: true, OAuth2: &broker.OAuth2{
		Flow: broker.AuthorizationCode, AuthURL: found.AuthURL, TokenURL: found.TokenURL, RevokeURL: found.RevokeURL, Resource: found.Resource, Scopes: found.Scopes,
		Issuer: found.Issuer, NamesIssuer: found.NamesIssuer,
	}}
	if found.ClientInBody {
		p.OAuth2.ClientAuth = "body"
	}
	if err := p.Check(); err != nil {
		return "", err
	}
	client := map[string]broker.Secret{broker.FieldClientID: capability.NewSecret([]byte("https://conformance-test.local/client-metadata.json"))}
	if given.ClientID == "" && found.RegistrationURL != "" && !found.ClientDocuments {
		registered, err := oauthex.RegisterClient(ctx, found.RegistrationURL, &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{"http://127.0.0.1/callback"}, ApplicationType: "native",
		}, http.DefaultClient)
		if err != nil {
			return "", err
		}
		given.ClientID, given.ClientSecret = registered.ClientID, registered.ClientSecret
	}
	if given.ClientID != "" {
		client[broker.FieldClientID] = capability.NewSecret([]byte(given.ClientID))
	}
	if given.ClientSecret != "" {
		client[broker.FieldClientSecret] = capability.NewSecret([]byte(given.ClientSecret))
	}
	got, err := broker.New(nil, nil, broker.Options{}).SignIn(ctx, broker.SignIn{Provider: p, Scopes: found.Scopes, Client: broker.NewCredential(client), Within: 10 * time.Second, Show: func(page string) error {
		go func() {
			resp, err := http.Get(page) //nolint:gosec // the browser of the test, which follows to the callback
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		return nil
	}})
	if err != nil {
		return "", err
	}
	token := string(got.Credential.Get(broker.FieldAccessToken).Reveal())
	if token == "" {
		return "", errors.New("no token")
	}
	return token, nil
}
