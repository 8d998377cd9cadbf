package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/internal/web"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Web configures the tools for the web.
type Web struct {
	// Ports are the ports that core__web_fetch, and HTTP tools without a connection, may connect to: PAWL_WEB_PORTS, separated by commas. nil
	// means 80 and 443.
	Ports []uint16
	// Search is the name of the search service: PAWL_SEARCH. Without it the worker does not have
	// core__web_search.
	Search string
	// SearchURL is the address of the search service: PAWL_SEARCH_URL. Its host may have a private address.
	SearchURL string
}

func loadWeb() (w Web, err error) {
	w = Web{Search: os.Getenv("PAWL_SEARCH"), SearchURL: os.Getenv("PAWL_SEARCH_URL")}
	for _, word := range words(os.Getenv("PAWL_WEB_PORTS")) {
		port, err := strconv.ParseUint(word, 10, 16)
		if err != nil || port == 0 {
			return w, errors.New("config: PAWL_WEB_PORTS must be ports from 1 to 65535, separated by commas")
		}
		w.Ports = append(w.Ports, uint16(port))
	}
	return w, nil
}

// provideWeb returns the capabilities of the web, and the built-in tools. If the search service needs a connection, core__web_search is
// the tool with a connection.
func provideWeb(o *opened, w Web) (provided []toolspec.Provided, builtin []toolspec.Tool, err error) {
	fetcher := web.NewFetcher(web.Options{Ports: w.Ports, Version: moduleVersion()})
	o.add(fetcher.Close)
	public := web.NewPublic(web.Options{Ports: w.Ports})
	o.add(public.Close)
	provided, builtin = append(provided, capability.WebKey.Provide(fetcher), capability.PublicHTTPKey.Provide(public)), tools.All()
	if w.Search == "" {
		if w.SearchURL != "" {
			return nil, nil, errors.New("config: PAWL_SEARCH_URL is set without PAWL_SEARCH: set PAWL_SEARCH=searxng")
		}
		return provided, builtin, nil
	}
	searcher, err := web.NewSearcher(web.SearchOptions{Service: w.Search, URL: w.SearchURL, Version: moduleVersion()})
	if err != nil {
		return nil, nil, fmt.Errorf("config: PAWL_SEARCH, PAWL_SEARCH_URL: %w", err)
	}
	o.add(searcher.Close)
	if searcher.NeedsConnection() {
		connected := tools.WebSearchConnected()
		id := connected.Definition().ID
		builtin[slices.IndexFunc(builtin, func(t toolspec.Tool) bool { return t.Definition().ID == id })] = connected
	}
	return append(provided, capability.SearchKey.Provide(searcher)), builtin, nil
}

// moduleVersion returns the version of Pawl in this program, or an empty text.
func moduleVersion() string {
	const path = "github.com/pawl-run/pawl"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path && m.Version != "(devel)" {
			return m.Version
		}
	}
	return ""
}
