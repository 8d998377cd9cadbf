package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

// Bounds of a search.
const (
	searchTime = 20 * time.Second
	// maxSearchBody bounds the answer of a service, in bytes after decompression.
	maxSearchBody = 2 << 20
	maxTitle      = 200
	maxSnippet    = 500
)

// Searcher implements capability.Search with a search service.
type Searcher struct {
	service service
	base    string
	agent   string
	plain   *http.Client
}

// SearchOptions of a Searcher.
type SearchOptions struct {
	// Service is the name of a service: see SearchServices.
	Service string
	// URL is the address of the service, http or https, for a service that users host themselves. Its host may have a
	// private address. Empty means the public address of the service.
	URL string
	// Version is the version of Pawl in the header User-Agent.
	Version string
}

// SearchServices returns the names of the services that a Searcher can ask.
func SearchServices() []string { return slices.Sorted(maps.Keys(services)) }

// NewSearcher returns a Searcher. An error says what is wrong with the options.
func NewSearcher(o SearchOptions) (*Searcher, error) {
	s, ok := services[o.Service]
	if !ok {
		return nil, fmt.Errorf("there is no search service %q: there are %s", o.Service, strings.Join(SearchServices(), ", "))
	}
	if o.URL == "" {
		o.URL = s.address
	}
	if o.URL == "" {
		return nil, fmt.Errorf("the search service %s needs the URL of your server", o.Service)
	}
	u, err := weburl.Parse(o.URL)
	if err != nil || u.RawQuery != "" {
		return nil, errors.New("the URL of the search service must be http:// or https://, without a user name and a query")
	}
	return &Searcher{
		service: s, base: strings.TrimSuffix(u.String(), "/"), agent: agentOf(o.Version),
		// This client has no guard: the operator has chosen the host, and the client sends requests to no other host.
		plain: &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeaders,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 15 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 4,
		}},
	}, nil
}

// NeedsConnection reports whether the service needs a credential.
func (s *Searcher) NeedsConnection() bool { return s.service.connected }

// Close closes the connections that are idle.
func (s *Searcher) Close() { s.plain.CloseIdleConnections() }

// Search implements capability.Search.
func (s *Searcher) Search(ctx context.Context, client *http.Client, query string, limit int) ([]capability.SearchResult, error) {
	within, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, s.base+s.service.path+"?"+s.service.query(query, limit), http.NoBody)
	if err != nil {
		return nil, fault(capability.WebBadURL, "the URL of the search service is malformed")
	}
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set("Accept", "application/json")
	if client == nil {
		client = s.plain
	}
	staying := *client
	staying.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := staying.Do(req)
	if err != nil {
		return nil, cause(ctx, failed(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fault(capability.WebStatus, "the search service answered "+strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSearchBody+1))
	switch {
	case err != nil:
		return nil, cause(ctx, failed(err))
	case len(body) > maxSearchBody:
		return nil, fault(capability.WebTooLarge, "the answer of the search service is too large")
	}
	return s.service.read(body, min(max(limit, 1), capability.MaxSearchResults))
}

// failed returns the fault of a search without an answer. A refusal of the broker keeps its text.
func failed(err error) error {
	for _, known := range []error{capability.ErrForeignHost, capability.ErrLeaseOver, capability.ErrNoConnection} {
		if errors.Is(err, known) {
			return fault(capability.WebUnreachable, "the search service cannot be asked: "+known.Error())
		}
	}
	var of *capability.WebError
	if err = explain(err); errors.As(err, &of) {
		return fault(of.Fault, "the search service cannot be asked: "+of.Text)
	}
	return err
}

// service describes a search service: how it is asked, and where its answer has the results.
type service struct {
	// address is the public address; empty for a service that users host themselves.
	address, path string
	// queryName and limitName are parameters of the request; limitName may be empty. fixed are further ones.
	queryName, limitName string
	fixed                map[string]string
	// results is the path of the list of results in the answer. The other names are members of a result.
	results             []string
	title, url, snippet string
	// connected says that the service needs a credential.
	connected bool
}

// services are the known search services, by name. To support another service whose answer has this shape, add an entry.
var services = map[string]service{
	// https://docs.searxng.org/dev/search_api.html; the server must allow the format json.
	"searxng": {
		path: "/search", queryName: "q", fixed: map[string]string{"format": "json"},
		results: []string{"results"}, title: "title", url: "url", snippet: "content",
	},
	// https://api-dashboard.search.brave.com/app/documentation/web-search
	"brave": {
		address: "https://api.search.brave.com", path: "/res/v1/web/search", queryName: "q", limitName: "count",
		fixed:   map[string]string{"text_decorations": "false", "result_filter": "web"},
		results: []string{"web", "results"}, title: "title", url: "url", snippet: "description", connected: true,
	},
}

// query returns the parameters of a request.
func (s service) query(text string, limit int) string {
	v := url.Values{s.queryName: {text}}
	if s.limitName != "" {
		v.Set(s.limitName, strconv.Itoa(limit))
	}
	for name, value := range s.fixed {
		v.Set(name, value)
	}
	return v.Encode()
}

// read returns the first results of an answer. It leaves out results without a title or a valid address. An
// answer without a list of results has none.
func (s service) read(body []byte, limit int) ([]capability.SearchResult, error) {
	bad := fault(capability.WebContent, "the answer of the search service is not the JSON that it is known for")
	var within json.RawMessage = body
	for _, name := range s.results {
		var members map[string]json.RawMessage
		if json.Unmarshal(within, &members) != nil {
			return nil, bad
		}
		if within = members[name]; within == nil {
			return nil, nil
		}
	}
	var list []map[string]any
	if json.Unmarshal(within, &list) != nil {
		return nil, bad
	}
	var results []capability.SearchResult
	for _, found := range list {
		text := func(name string, limit int) string {
			value, _ := found[name].(string)
			return oneLine(withoutMarkup(value), limit)
		}
		address, _ := found[s.url].(string)
		u, err := weburl.Parse(address)
		r := capability.SearchResult{Title: text(s.title, maxTitle), Snippet: text(s.snippet, maxSnippet)}
		if err != nil || r.Title == "" {
			continue
		}
		r.URL = u.String()
		if results = append(results, r); len(results) == limit {
			break
		}
	}
	return results, nil
}

// withoutMarkup returns the text of a piece of HTML.
func withoutMarkup(source string) string {
	var text strings.Builder
	for tokens := html.NewTokenizer(strings.NewReader(source)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return text.String()
		case html.TextToken:
			text.Write(tokens.Text())
		default:
		}
	}
}
