package mcp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/web"
)

func newProvider(a *app.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "provider URL", Short: "Describe the authorization of an MCP server as a provider of connections", Args: app.ExactArgs(1, "the URL of an MCP server"),
		Long: "Ask an MCP server without a credential, and print the provider that its refusal describes: where a person signs in, and for which\n" +
			"resource. It is a provider file for `pawl connections add --providers FILE`. Read it first: the URLs are those that the server names, and\n" +
			"your client and the tokens go there. The command stores nothing. It asks public hosts over https only, or for a URL with http:// this machine only.",
		Example: "  pawl mcp provider https://mcp.tracker.example.com/mcp --id tracker > tracker.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			public := web.NewPublic(web.Options{})
			defer public.Close()
			found, err := mcp.FindAuthorization(cmd.Context(), args[0], public.Client())
			if err != nil {
				return err
			}
			p, err := providerOf(args[0], id, found)
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(p, "", "  ")
			if err != nil {
				return err
			}
			note := "no client can register itself there: ask its operator for a client id"
			switch {
			case found.ClientDocuments:
				note = "the client id may be the URL of a client id metadata document of yours"
			case found.RegistrationURL != "":
				note = "register a client at " + found.RegistrationURL
			}
			if _, err := fmt.Fprintf(a.Err, "authorization server %s; %s\n", found.Issuer, note); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, string(text))
			return err
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the `id` of the provider; by default made of the host of the server")
	return cmd
}

var noID = regexp.MustCompile("[^a-z0-9]+")

// providerOf makes the provider for the connections to an MCP server. If id is empty, the id of the provider is made
// from the name of the host.
func providerOf(address, id string, found mcp.Authorization) (broker.Provider, error) {
	u, err := url.Parse(address)
	if err != nil {
		return broker.Provider{}, err
	}
	if id == "" {
		id = "mcp-" + strings.Trim(noID.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-")
	}
	p := broker.Provider{
		ID: id, Kind: broker.OAuth, Hosts: []string{strings.ToLower(u.Host)}, Insecure: u.Scheme == "http",
		OAuth2: &broker.OAuth2{
			Flow: broker.AuthorizationCode, AuthURL: found.AuthURL, TokenURL: found.TokenURL, RevokeURL: found.RevokeURL, Resource: found.Resource, Scopes: found.Scopes,
			Issuer: found.Issuer, NamesIssuer: found.NamesIssuer,
		},
	}
	if found.ClientInBody {
		p.OAuth2.ClientAuth = "body"
	}
	if err := p.Check(); err != nil {
		return broker.Provider{}, fmt.Errorf("what the server says makes no provider: %w", err)
	}
	return p, nil
}
