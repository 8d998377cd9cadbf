package broker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

var domainName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// splitHost returns the host and the port of a pattern; the port is "" if the pattern has none.
func splitHost(pattern string) (host, port string, err error) {
	if h, p, split := net.SplitHostPort(pattern); split == nil {
		n, bad := strconv.ParseUint(p, 10, 16)
		if bad != nil || n == 0 || strconv.FormatUint(n, 10) != p {
			return "", "", fmt.Errorf("host %q has no valid port", pattern)
		}
		return h, p, nil
	}
	return strings.TrimSuffix(strings.TrimPrefix(pattern, "["), "]"), "", nil
}

// checkHost returns an error if a pattern is not host, host:port, *.domain or *.domain:port in lower case. With
// insecure, the host must be a loopback address.
func checkHost(pattern string, insecure bool) error {
	if strings.Contains(pattern, "/") {
		return fmt.Errorf("host %q must be a host and no URL", pattern)
	}
	host, _, err := splitHost(pattern)
	if err != nil {
		return err
	}
	if insecure && !loopback(host) {
		return fmt.Errorf("insecure is for loopback addresses only, not for %q", pattern)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	domain, wild := strings.CutPrefix(host, "*.")
	if !domainName.MatchString(domain) || wild && !strings.Contains(domain, ".") {
		return fmt.Errorf("host %q must be a name in lower case, an address, or *. and a domain of at least two parts", pattern)
	}
	return nil
}

// canonicalHost returns an IP address in its shortest form, and any other host unchanged.
func canonicalHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return host
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// checkURL returns an error if text is not an absolute https URL without user and fragment. With
// insecure, http to a loopback address is valid too.
func checkURL(text string, insecure bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("must be an absolute URL")
	case u.User != nil || u.Fragment != "":
		return errors.New("must hold neither user nor fragment")
	case u.Scheme == "https" || u.Scheme == "http" && insecure && loopback(u.Hostname()):
		return nil
	}
	return errors.New("must be https")
}

// hosts are the hosts to which a credential may be sent.
type hosts struct {
	patterns []string
	insecure bool
}

// allow reports whether a URL names one of the hosts and its scheme is https. With insecure,
// http to a loopback address is allowed too.
func (h hosts) allow(u *url.URL) bool {
	standard := "443"
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && h.insecure && loopback(u.Hostname()):
		standard = "80"
	default:
		return false
	}
	port := u.Port()
	if port == "" {
		port = standard
	}
	name := canonicalHost(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
	for _, pattern := range h.patterns {
		host, wants, err := splitHost(pattern)
		if err != nil {
			continue
		}
		if wants == "" {
			wants = standard
		}
		if wants != port {
			continue
		}
		if domain, wild := strings.CutPrefix(host, "*"); canonicalHost(host) == name || wild && strings.HasSuffix(name, domain) && len(name) > len(domain) {
			return true
		}
	}
	return false
}

// baseURL returns the URL of a host, with scheme and host only. If host is "", it takes the first of the hosts that has no *.
// The scheme is https, or http for a loopback address if the provider is insecure. The error is ErrNoHost if each host has a
// *, and ErrForeignHost if host is none of the hosts.
func (h hosts) baseURL(host string) (*url.URL, error) {
	if host == "" {
		i := slices.IndexFunc(h.patterns, func(p string) bool { return !strings.Contains(p, "*") })
		if i < 0 {
			return nil, capability.ErrNoHost
		}
		if host = h.patterns[i]; strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
	}
	for _, scheme := range []string{"https", "http"} {
		u := &url.URL{Scheme: scheme, Host: host}
		// An insecure connection is for a loopback address, whose server most likely has no TLS.
		if scheme == "https" && h.insecure && loopback(u.Hostname()) {
			continue
		}
		if h.allow(u) {
			return u, nil
		}
	}
	return nil, capability.ErrForeignHost
}
