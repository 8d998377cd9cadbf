package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/mcp"
)

// TestProviderOf: the authorization that a server describes becomes a provider for the host of this server only, or an error.
func TestProviderOf(t *testing.T) {
	t.Parallel()
	found := mcp.Authorization{
		Resource: "https://mcp.example.com/mcp", Issuer: "https://id.example.com", AuthURL: "https://id.example.com/a", TokenURL: "https://id.example.com/t",
		NamesIssuer: true, ClientInBody: true, Scopes: []string{"read"},
	}
	p, err := providerOf("https://MCP.example.com/mcp", "", found)
	if err != nil {
		t.Fatal(err)
	}
	want := broker.Provider{ID: "mcp-mcp-example-com", Kind: broker.OAuth, Hosts: []string{"mcp.example.com"}, OAuth2: &broker.OAuth2{
		Flow: broker.AuthorizationCode, AuthURL: found.AuthURL, TokenURL: found.TokenURL, Resource: found.Resource, Issuer: found.Issuer, NamesIssuer: true,
		Scopes: found.Scopes, ClientAuth: "body",
	}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if read, err := broker.ReadProviders(text); err != nil || !reflect.DeepEqual(read, []broker.Provider{want}) {
		t.Errorf("what is printed is read as %+v, %v", read, err)
	}
	found.TokenURL = "http://id.example.com/t"
	if _, err := providerOf("https://mcp.example.com/mcp", "a", found); err == nil || !strings.Contains(err.Error(), "tokenUrl") {
		t.Errorf("a token endpoint without TLS: %v", err)
	}
}
