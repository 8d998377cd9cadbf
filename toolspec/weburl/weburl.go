package weburl

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxLength bounds a URL, in bytes.
const MaxLength = 2048

// Errors of Parse. Their texts hold nothing of the URL.
var (
	errLength   = errors.New("the URL must have 1 to 2048 bytes")
	errText     = errors.New("the URL must not hold spaces, control characters or backslashes")
	errSyntax   = errors.New("the URL is malformed")
	errScheme   = errors.New("the URL must begin with http:// or https://")
	errUser     = errors.New("the URL must not hold a user name or a password")
	errHost     = errors.New("the URL has no valid host name")
	errNumber   = errors.New("an IP address in a URL must have its usual form, such as 192.0.2.1 or [2001:db8::1]")
	errPort     = errors.New("the URL has no valid port")
	domainLabel = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	numberLabel = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`)
)

// Parse reads an absolute URL of the scheme http or https, of at most MaxLength bytes. It returns the URL in
// one form: scheme and host in lower case, the host in ASCII and without a dot at its end, no default port,
// a path, no fragment.
//
// Parse refuses what programs read in different ways: a user name or password, backslashes, spaces, percent
// signs in the host, and IP addresses in decimal, octal, hexadecimal or short form, mapped to IPv6, or with
// a zone. It does not say whether an address may be connected to.
func Parse(text string) (*url.URL, error) {
	switch {
	case text == "" || len(text) > MaxLength || !utf8.ValidString(text):
		return nil, errLength
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == 0x85 || r == 0xa0 }):
		return nil, errText
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errSyntax
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errScheme
	case u.User != nil:
		return nil, errUser
	case u.Opaque != "" || u.Host == "" || strings.Contains(u.Host, "%"):
		return nil, errHost
	}
	host, isIPv6, err := readHost(u)
	if err != nil {
		return nil, err
	}
	port, err := readPort(u)
	if err != nil {
		return nil, err
	}
	if isIPv6 {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	clean := &url.URL{Scheme: u.Scheme, Host: host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if clean.Path == "" {
		clean.Path = "/"
	}
	return clean, nil
}

// Host returns the host of a URL as Parse reads it, without the port and without brackets.
func Host(text string) (string, error) {
	u, err := Parse(text)
	if err != nil {
		return "", err
	}
	return u.Hostname(), nil
}

// readHost returns the host in its one form.
func readHost(u *url.URL) (host string, isIPv6 bool, err error) {
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || !addr.Is6() || addr.Is4In6() || addr.Zone() != "" { // an IPv4 address has one form
			return "", false, errNumber
		}
		return addr.String(), true, nil
	}
	// The profile is that of net/http. It maps characters such as fullwidth digits and dots to ASCII, so
	// it comes before all other checks.
	if host, err = idna.Lookup.ToASCII(u.Hostname()); err != nil {
		host = u.Hostname() // idna refuses "_", which host names of services have
		if !isASCII(host) {
			return "", false, errHost
		}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 {
		return "", false, errHost
	}
	labels := strings.Split(host, ".")
	if numberLabel.MatchString(labels[len(labels)-1]) {
		// Resolvers read a name whose last label is a number as an IPv4 address, in many forms.
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is4() {
			return "", false, errNumber
		}
		return addr.String(), false, nil
	}
	for _, label := range labels {
		if !domainLabel.MatchString(label) {
			return "", false, errHost
		}
	}
	return host, false, nil
}

// readPort returns the port, empty for the default of the scheme.
func readPort(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return "", errPort
	}
	if port == DefaultPort(u) {
		return "", nil
	}
	return port, nil
}

// DefaultPort returns the port of the scheme of a URL that Parse has returned.
func DefaultPort(u *url.URL) string {
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}
