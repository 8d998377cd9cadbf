package oidc

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Prefix begins the identities of ID tokens, unless Issuer.As sets another prefix. A key cannot be registered for an
// identity with Prefix.
const Prefix = "oidc:"

// EmailClaim is the claim that names a person if Issuer.Claim is empty. It counts only if the issuer has verified the
// address.
const EmailClaim = "email"

// everyTenant in Issuer.Tenants means all tenants.
const everyTenant = "*"

const (
	maxIssuers = 16
	maxAs      = 64
)

var (
	names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	as    = regexp.MustCompile(`^[a-z][a-z0-9._-]*:[A-Za-z0-9._:-]*$`)
)

// Issuer is a provider that is trusted to say who somebody is.
type Issuer struct {
	// Name is a word for the issuer, in identities and in the log.
	Name string
	// URL is the identifier of the issuer, exactly as its tokens hold it: https, or http on this machine.
	URL string
	// ClientIDs are the clients for which the issuer's tokens may be.
	ClientIDs []string
	// Claim names the person; empty means email.
	Claim string
	// As is the prefix that makes an identity of the claim. Empty means oidc:NAME: with the issuer's name.
	As string
	// Tenants are the tenants for which the issuer's tokens count, or "*".
	Tenants []string
	// Require are claims that a token must have, each with just this text.
	Require map[string]string
}

// complete fills in default values, and returns an error for an issuer that is not valid.
func (i Issuer) complete() (Issuer, error) {
	if i.Claim == "" {
		i.Claim = EmailClaim
	}
	if !names.MatchString(i.Name) {
		return i, errors.New("oidc: an issuer needs a name of up to 32 lower-case letters, digits and -")
	}
	if i.As == "" {
		i.As = Prefix + i.Name + ":"
	}
	if _, err := address(i.URL); err != nil {
		return i, fmt.Errorf("oidc: the issuer %s: %w", i.Name, err)
	}
	switch {
	case len(i.ClientIDs) == 0 || slices.Contains(i.ClientIDs, ""):
		return i, fmt.Errorf("oidc: the issuer %s: the client id is missing", i.Name)
	case len(i.Tenants) == 0 || slices.Contains(i.Tenants, ""):
		return i, fmt.Errorf(`oidc: the issuer %s: name the tenants that trust it, or "*"`, i.Name)
	case len(i.As) > maxAs || !as.MatchString(i.As) || strings.HasPrefix(i.As, "role:") || strings.HasPrefix(i.As, Prefix) && i.As != Prefix+i.Name+":":
		return i, fmt.Errorf("oidc: the issuer %s: its people are named as user:, as oidc:%s: or with another prefix that ends its kind with a colon", i.Name, i.Name)
	}
	return i, nil
}

// trustedBy reports whether the issuer's tokens count for the tenant.
func (i Issuer) trustedBy(tenantID string) bool {
	return slices.Contains(i.Tenants, everyTenant) || slices.Contains(i.Tenants, tenantID)
}

// collides returns an error if two issuers could give two people one name, or one person two names.
func (i Issuer) collides(other Issuer) error {
	shared := slices.ContainsFunc(i.Tenants, other.trustedBy) || slices.Contains(other.Tenants, everyTenant) || slices.Contains(i.Tenants, everyTenant)
	switch {
	case i.Name == other.Name:
		return fmt.Errorf("oidc: two issuers are named %s", i.Name)
	case shared && i.URL == other.URL:
		return fmt.Errorf("oidc: %s and %s are the same issuer for the same tenant, so that one person could have two names", i.Name, other.Name)
	case shared && (strings.HasPrefix(i.As, other.As) || strings.HasPrefix(other.As, i.As)):
		return fmt.Errorf("oidc: %s and %s could name two people the same; give their people different prefixes, or let them be trusted by different tenants", i.Name, other.Name)
	}
	return nil
}

// identity is the name of the person for whom the claim stands.
func (i Issuer) identity(claim string) (string, bool) {
	id := i.As + claim
	return id, claim != "" && toolspec.CheckIdentity(id) == nil
}

// address parses an address to which a request may be sent: https, or http on this machine.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address must be of the form https://host/path")
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u) {
		return u, nil
	}
	return nil, errors.New("the address must begin with https://, unless it is of this machine")
}

func loopback(u *url.URL) bool {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// sameOrigin reports whether two addresses are of one server.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && net.JoinHostPort(a.Hostname(), port(a)) == net.JoinHostPort(b.Hostname(), port(b))
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
