package worker

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestProvideWeb: a worker without a search service does not have core__web_search. With a search service, the
// definition of the tool fits the service.
func TestProvideWeb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		web        Web
		has        bool
		connection bool
		refused    string
	}{
		{web: Web{}},
		{web: Web{Search: "searxng", SearchURL: "http://127.0.0.1:8080"}, has: true},
		{web: Web{Search: "brave"}, has: true, connection: true},
		{web: Web{Search: "searxng"}, refused: "needs the URL of your server"},
		{web: Web{Search: "google"}, refused: "there are brave, searxng"},
		{web: Web{SearchURL: "http://127.0.0.1:8080"}, refused: "PAWL_SEARCH_URL is set without PAWL_SEARCH"},
	} {
		o := &opened{}
		provided, builtin, err := provideWeb(o, c.web)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v: %v", c.web, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.web, err)
			continue
		}
		id := func(id string) func(toolspec.Tool) bool {
			return func(tool toolspec.Tool) bool { return tool.Definition().ID == id }
		}
		at := slices.IndexFunc(builtin, id("core__web_search"))
		has := slices.ContainsFunc(provided, func(p toolspec.Provided) bool { return p.Name() == capability.SearchKey.Name() })
		if at < 0 || has != c.has || !slices.ContainsFunc(builtin, id("core__web_fetch")) {
			t.Errorf("%+v: core__web_search is %v, with its capability %v", c.web, at, has)
		}
		if has && builtin[at].Definition().RequiresConnection != c.connection {
			t.Errorf("%+v: %+v", c.web, builtin[at].Definition())
		}
		capabilities, err := toolspec.NewCapabilities(append(provided, capability.ClockKey.Provide(nil))...)
		if err != nil {
			t.Fatal(err)
		}
		// Without a key ring, a service with credentials is refused when the worker starts.
		if err := needKeyRing(builtin, capabilities); (err != nil) != c.connection || err != nil && !strings.Contains(err.Error(), "core__web_search") {
			t.Errorf("%+v: %v", c.web, err)
		}
	}
}

// TestLoadWeb: PAWL_WEB_PORTS accepts port numbers only.
func TestLoadWeb(t *testing.T) {
	t.Setenv("PAWL_WEB_PORTS", "80, 8443")
	if w, err := loadWeb(); err != nil || !slices.Equal(w.Ports, []uint16{80, 8443}) {
		t.Errorf("%+v, %v", w, err)
	}
	for _, bad := range []string{"0", "65536", "http", "80-90", "-1"} {
		t.Setenv("PAWL_WEB_PORTS", bad)
		if w, err := loadWeb(); err == nil {
			t.Errorf("%s: %+v", bad, w)
		}
	}
}
