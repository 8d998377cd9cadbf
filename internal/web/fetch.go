package web

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"code.dny.dev/ssrf"

	"github.com/pawl-run/pawl/internal/lru"
	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

// Bounds of one fetch.
const (
	// fetchTime bounds a fetch with its redirects and robots.txt.
	fetchTime = 20 * time.Second
	// readTime bounds the reading of the content after it has arrived.
	readTime = 20 * time.Second
	// maxRedirects is the number of redirects that are followed.
	maxRedirects = 5
	// maxHeaders bounds the headers of an answer, in bytes.
	maxHeaders = 64 << 10
	// maxBody bounds what is read of an answer, in bytes after decompression.
	maxBody = 5 << 20
	// maxFetches bounds the pages that are fetched and read at the same time, and so the memory of their bodies.
	// The other bounds are for the pages of one tenant, of one host, and of one tenant at one host, so that
	// there is room for others.
	maxFetches      = 8
	maxOfTenant     = 4
	maxOfHost       = 4
	maxOfTenantHost = 2
)

// Fetcher implements capability.Web.
type Fetcher struct {
	guard     *guard
	transport http.RoundTripper
	agent     string
	pages     *lru.Cache[string, *kept]
	robots    *lru.Cache[string, *rules]
	reader    *reader
	// A fetch holds room from the request for a page until the page is read.
	room room.Room
	// fetchTime is the constant; tests shorten it.
	fetchTime time.Duration
}

// Options of a Fetcher.
type Options struct {
	// Ports are the ports that may be connected to; nil means 80 and 443.
	Ports []uint16
	// Version is the version of Pawl in the header User-Agent.
	Version string
}

// NewFetcher returns a Fetcher for the public web.
func NewFetcher(o Options) *Fetcher {
	if len(o.Ports) == 0 {
		o.Ports = []uint16{80, 443}
	}
	return newFetcher(newGuard(o.Ports), o.Version, nil)
}

// NewLocalFetcher returns a Fetcher that connects to these ports, also of 127.0.0.0/8. It is for tests of tools
// and workers, whose pages come from servers on their own machine; internal/arch keeps it out of programs.
func NewLocalFetcher(ports ...uint16) *Fetcher {
	return newFetcher(newGuard(ports, ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8"))), "", nil)
}

// newFetcher returns a Fetcher that connects through a guard. trust has the certificates of tests.
func newFetcher(g *guard, version string, trust *tls.Config) *Fetcher {
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &Fetcher{
		guard: g, agent: agentOf(version), fetchTime: fetchTime, reader: &reader{readTime: readTime},
		pages: lru.New[string, *kept](maxKept, nil), robots: lru.New[string, *rules](maxRules, nil),
		// Without Proxy, the variables of the environment count for nothing.
		transport: &http.Transport{
			DialContext: g.DialContext, TLSClientConfig: trust, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeaders,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second,
			MaxIdleConns: 32, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		},
	}
}

// agentOf returns the value of the header User-Agent.
func agentOf(version string) string {
	if version == "" {
		version = "devel"
	}
	return agentName + "/" + version + " (+https://github.com/pawl-run/pawl)"
}

// agentName is the name of Pawl for robots.txt.
const agentName = "Pawl"

// fault returns a WebError.
func fault(of capability.WebFault, text string) error {
	return &capability.WebError{Fault: of, Text: text}
}

// Fetch implements capability.Web.
func (f *Fetcher) Fetch(ctx context.Context, r capability.WebRequest) (capability.WebPage, error) {
	u, err := weburl.Parse(r.URL)
	if err != nil {
		return capability.WebPage{}, fault(capability.WebBadURL, err.Error())
	}
	within, cancel := context.WithTimeout(ctx, f.fetchTime)
	defer cancel()
	var visited []string
	for {
		if slices.Contains(visited, u.String()) {
			return capability.WebPage{}, fault(capability.WebRedirect, "the redirects of the host go round in a circle")
		}
		visited = append(visited, u.String())
		if len(visited) > maxRedirects+1 {
			return capability.WebPage{}, fault(capability.WebRedirect, "the host redirects more than 5 times")
		}
		page, next, err := f.hop(ctx, within, u, r)
		if err != nil {
			return capability.WebPage{}, err
		}
		if next == nil {
			return page, nil
		}
		if next.Hostname() != u.Hostname() {
			return capability.WebPage{URL: u.String(), MovedTo: next.String()}, nil
		}
		u = next
	}
}

// hop asks for one URL. It returns the page, or the address to which the host redirects.
func (f *Fetcher) hop(ctx, within context.Context, u *url.URL, r capability.WebRequest) (page capability.WebPage, next *url.URL, err error) {
	if !f.allowsPort(u) {
		return page, nil, errPort
	}
	if err := f.askRobots(within, u, r.TenantID); err != nil {
		return page, nil, cause(ctx, err)
	}
	key := r.TenantID + "\x00" + string(r.Form) + "\x00" + u.String()
	old, _ := f.pages.Get(key)
	if old.fresh() {
		return old.page, nil, nil
	}
	leave, err := f.room.Enter(within, room.Bound{Most: maxFetches}, room.Bound{Key: "tenant " + r.TenantID, Most: maxOfTenant},
		room.Bound{Key: "host " + u.Hostname(), Most: maxOfHost}, room.Bound{Key: "tenant " + r.TenantID + " host " + u.Hostname(), Most: maxOfTenantHost})
	if err != nil {
		return page, nil, cause(ctx, fault(capability.WebTime, "too many other pages are being fetched: try again later"))
	}
	defer leave()
	a, err := f.get(within, u, old, maxBody)
	if err != nil {
		return page, nil, cause(ctx, err)
	}
	switch {
	case a.status == http.StatusNotModified && old != nil:
		f.keep(key, a, old.page)
		return old.page, nil, nil
	case a.location != "":
		next, err := f.follow(u, a.location)
		return page, next, err
	case a.status < 200 || a.status > 299:
		return page, nil, fault(capability.WebStatus, "the server answered "+strconv.Itoa(a.status)+" "+http.StatusText(a.status))
	}
	if page, err = f.reader.read(ctx, a, r.TenantID, r.Form); err != nil {
		return page, nil, cause(ctx, err)
	}
	page.URL = u.String()
	f.keep(key, a, page)
	return page, nil, nil
}

// follow checks the address of a redirect.
func (f *Fetcher) follow(from *url.URL, location string) (*url.URL, error) {
	target, err := from.Parse(location)
	if err != nil || len(location) > weburl.MaxLength {
		return nil, fault(capability.WebBadURL, "the host redirects to an address that is malformed")
	}
	next, err := weburl.Parse(target.String())
	if err != nil {
		return nil, fault(capability.WebBadURL, "the host redirects to an address that cannot be fetched: "+err.Error())
	}
	if from.Scheme == "https" && next.Scheme == "http" {
		return nil, fault(capability.WebRedirect, "the host redirects from https to http, which is not followed")
	}
	if addr, err := netip.ParseAddr(next.Hostname()); err == nil && f.guard.safe.SafeAddr(addr.Unmap()) != nil {
		return nil, errAddress
	}
	return next, nil
}

func (f *Fetcher) allowsPort(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = weburl.DefaultPort(u)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && slices.Contains(f.guard.ports, uint16(number))
}

// Close closes the connections that are idle.
func (f *Fetcher) Close() {
	if t, ok := f.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}
