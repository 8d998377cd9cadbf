package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Bounds of a provider's description.
const (
	// MaxProvider bounds the description of a provider, in bytes.
	MaxProvider = 64 << 10
	// MaxHosts bounds the hosts of a provider.
	MaxHosts = 64
	// MaxScopes bounds the scopes of a connection.
	MaxScopes = 128
)

// Provider describes a service: to which hosts its credentials may be sent, and how they are
// added to a request.
type Provider struct {
	// ID is the name by which connections refer to the provider: [a-z][a-z0-9-]{0,62}.
	ID string `json:"id" yaml:"id"`
	// Kind is the kind of the credentials.
	Kind Kind `json:"kind" yaml:"kind"`
	// Hosts are the hosts to which the credential may be sent: host, host:port or *.domain. The
	// default port is 443.
	Hosts []string `json:"hosts" yaml:"hosts"`
	// Insecure is for development: the credential may also be sent over plain http. Every host
	// must then be a loopback address.
	Insecure bool `json:"insecure,omitempty" yaml:"insecure"`
	// Place is the header or query parameter for an API key.
	Place *Place `json:"place,omitempty" yaml:"place"`
	// OAuth2 describes the authorization server.
	OAuth2 *OAuth2 `json:"oauth2,omitempty" yaml:"oauth2"`
	// Signer names the signer of the worker that signs requests of the kind signed.
	Signer string `json:"signer,omitempty" yaml:"signer"`
}

// Place is the header or the query parameter that takes an API key.
type Place struct {
	Header string `json:"header,omitempty" yaml:"header"`
	Query  string `json:"query,omitempty" yaml:"query"`
	// Template is the value, with {key} in place of the key; empty means {key}.
	Template string `json:"template,omitempty" yaml:"template"`
}

// Flow is the OAuth flow for the first token (RFC 6749).
type Flow string

// The flows.
const (
	AuthorizationCode Flow = "authorization_code"
	ClientCredentials Flow = "client_credentials"
)

// OAuth2 describes an authorization server.
type OAuth2 struct {
	Flow Flow `json:"flow" yaml:"flow"`
	// AuthURL is the page on which a person consents; only for authorization_code.
	AuthURL string `json:"authUrl,omitempty" yaml:"authUrl"`
	// TokenURL is the token endpoint.
	TokenURL string `json:"tokenUrl" yaml:"tokenUrl"`
	// RevokeURL is the revocation endpoint (RFC 7009), if the server has one.
	RevokeURL string `json:"revokeUrl,omitempty" yaml:"revokeUrl"`
	// Resource is the identifier of the service for which the server issues tokens (RFC 8707). It is in each request
	// for consent and for a token. Empty means that none is named.
	Resource string `json:"resource,omitempty" yaml:"resource"`
	// Issuer is the identifier of the authorization server. If the answer to a sign-in names an issuer, it must be this
	// text (RFC 9207). Empty means that the answer is not compared.
	Issuer string `json:"issuer,omitempty" yaml:"issuer"`
	// NamesIssuer says that each answer of the server names its issuer. An answer that does not is then refused.
	NamesIssuer bool `json:"namesIssuer,omitempty" yaml:"namesIssuer"`
	// Scopes are requested if a connection names none.
	Scopes []string `json:"scopes,omitempty" yaml:"scopes"`
	// ClientAuth is how the client authenticates: header (the default) or body.
	ClientAuth string `json:"clientAuth,omitempty" yaml:"clientAuth"`
}

var (
	providerID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
)

// ReadProviders reads descriptions from YAML, one per document. An unknown key is an error that
// names the line.
func ReadProviders(source []byte) ([]Provider, error) {
	if len(source) > MaxProvider {
		return nil, fmt.Errorf("more than %d bytes", MaxProvider)
	}
	dec := yaml.NewDecoder(bytes.NewReader(source))
	dec.KnownFields(true)
	var all []Provider
	for {
		var p Provider
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("provider %q: %w", p.ID, err)
		}
		if slices.ContainsFunc(all, func(other Provider) bool { return other.ID == p.ID }) {
			return nil, fmt.Errorf("provider %q is described twice", p.ID)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errors.New("no provider is described")
	}
	return all, nil
}

// Check returns an error if the description is not valid.
func (p Provider) Check() error {
	switch {
	case !providerID.MatchString(p.ID):
		return errors.New("id must match [a-z][a-z0-9-]{0,62}")
	case !p.Kind.Valid():
		return fmt.Errorf("kind %q is none of api_key, bearer, basic, oauth2, signed", p.Kind)
	case len(p.Hosts) == 0 || len(p.Hosts) > MaxHosts:
		return fmt.Errorf("hosts must have 1–%d entries", MaxHosts)
	case (p.Place != nil) != (p.Kind == APIKey):
		return errors.New("place belongs to the kind api_key, which needs it")
	case (p.OAuth2 != nil) != (p.Kind == OAuth):
		return errors.New("oauth2 belongs to the kind oauth2, which needs it")
	case (p.Signer != "") != (p.Kind == Signed):
		return errors.New("signer belongs to the kind signed, which needs it")
	}
	for _, h := range p.Hosts {
		if err := checkHost(h, p.Insecure); err != nil {
			return err
		}
	}
	if p.Place != nil {
		if err := p.Place.check(); err != nil {
			return err
		}
	}
	if p.OAuth2 != nil {
		return p.OAuth2.check(p.Insecure)
	}
	return nil
}

func (p Place) check() error {
	switch {
	case (p.Header == "") == (p.Query == ""):
		return errors.New("place needs either header or query")
	case p.Header != "" && !headerName.MatchString(p.Header):
		return fmt.Errorf("place.header %q is no name of a header", p.Header)
	case p.Header != "" && slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection"}, strings.ToLower(p.Header)):
		return fmt.Errorf("place.header %q is not the credential's to set", p.Header)
	case p.Template != "" && strings.Count(p.Template, "{key}") != 1:
		return errors.New("place.template must hold {key} once")
	case strings.ContainsAny(p.Template, "\r\n\x00"):
		return errors.New("place.template must be one line")
	}
	return nil
}

func (o OAuth2) check(insecure bool) error {
	switch {
	case o.Flow != AuthorizationCode && o.Flow != ClientCredentials:
		return fmt.Errorf("oauth2.flow %q is neither authorization_code nor client_credentials", o.Flow)
	case (o.AuthURL != "") != (o.Flow == AuthorizationCode):
		return errors.New("oauth2.authUrl belongs to the flow authorization_code, which needs it")
	case o.NamesIssuer && o.Issuer == "":
		return errors.New("oauth2.namesIssuer needs oauth2.issuer, with which the answer is compared")
	case o.ClientAuth != "" && o.ClientAuth != "header" && o.ClientAuth != "body":
		return errors.New("oauth2.clientAuth is header or body")
	case len(o.Scopes) > MaxScopes:
		return fmt.Errorf("oauth2.scopes has more than %d entries", MaxScopes)
	}
	for name, u := range map[string]string{"tokenUrl": o.TokenURL, "authUrl": o.AuthURL, "revokeUrl": o.RevokeURL, "resource": o.Resource, "issuer": o.Issuer} {
		if u == "" && name != "tokenUrl" {
			continue
		}
		if err := checkURL(u, insecure); err != nil {
			return fmt.Errorf("oauth2.%s %w", name, err)
		}
	}
	return nil
}
