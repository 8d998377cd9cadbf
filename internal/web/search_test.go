package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/web"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type found struct {
	Note    string `json:"note"`
	Results []struct {
		Title   string `json:"title"`
		URL     string `json:"url"`
		Snippet string `json:"snippet"`
	} `json:"results"`
}

func decode(t *testing.T, a pawltest.Answer) (f found) {
	t.Helper()
	if !a.Result.OK {
		t.Fatalf("%s: %s", a.Result.ErrorCode, a.Result.SafeMessage)
	}
	if err := json.Unmarshal(a.Value, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSearXNG: core__web_search over a server of the shape of SearXNG, at an address of this machine that the operator has configured.
func TestSearXNG(t *testing.T) {
	answer, status, seen := "", http.StatusOK, url.Values{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.URL.Query()
		switch {
		case r.URL.Path != "/searx/search":
			t.Errorf("asked for %s", r.URL)
		case status == http.StatusFound:
			http.Redirect(w, r, "http://169.254.169.254/", status)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	searcher, err := web.NewSearcher(web.SearchOptions{Service: "searxng", URL: server.URL + "/searx/"})
	if err != nil || searcher.NeedsConnection() {
		t.Fatal(err)
	}
	defer searcher.Close()
	call := func(args string) pawltest.Answer {
		return pawltest.Call{Tool: tools.WebSearch(), Args: args, Capabilities: []toolspec.Provided{capability.SearchKey.Provide(searcher)}}.Run(t)
	}
	results := []string{
		`{"title":"Go <b>1.26</b> &amp;\u001b[31m\u202e more","url":"HTTPS://GO.dev/doc#x","content":"line\nline ` + strings.Repeat("ü", 400) + `","engine":"x"}`,
		`{"title":"bad scheme","url":"javascript:alert(1)"}`, `{"title":"user","url":"http://a:b@c.test/"}`, `{"title":7,"url":"http://a.test/"}`, `{"url":"http://a.test/"}`,
		`{"title":"<script>alert(1)</script>","url":"http://a.test/"}`,
	}
	for i := range 30 {
		results = append(results, fmt.Sprintf(`{"title":"t%d","url":"http://a.test/%d"}`, i, i))
	}
	answer = `{"query":"x","results":[` + strings.Join(results, ",") + `]}`
	got := decode(t, call(`{"query":"a & b=c","limit":3}`))
	if seen.Get("q") != "a & b=c" || seen.Get("format") != "json" || !strings.Contains(got.Note, "not trusted") || len(got.Results) != 3 {
		t.Fatalf("asked %v, got %+v", seen, got)
	}
	if r := got.Results[0]; r.Title != "Go 1.26 &[31m more" || r.URL != "https://go.dev/doc" || !strings.HasPrefix(r.Snippet, "line line üü") || len(r.Snippet) > 500 || !strings.HasSuffix(r.Snippet, "ü…") {
		t.Errorf("%+v", r)
	}
	if got.Results[1].Title != "alert(1)" || got.Results[2].URL != "http://a.test/0" {
		t.Errorf("%+v", got.Results)
	}
	if got := decode(t, call(`{"query":"x"}`)); len(got.Results) != 8 {
		t.Errorf("%d results", len(got.Results))
	}
	for _, none := range []string{`{}`, `{"results":[]}`, `{"results":null}`} {
		if answer = none; len(decode(t, call(`{"query":"x"}`)).Results) != 0 {
			t.Errorf("%s has results", none)
		}
	}
	for _, bad := range []string{"", "<html>", "[]", `{"results":{}}`, `{"results":[7]}`, strings.Repeat("[", 1<<20), `"` + strings.Repeat("x", 3<<20)} {
		answer = bad
		if r := call(`{"query":"x"}`).Result; r.OK || r.ErrorCode != toolspec.CodeExecution || !strings.Contains(r.SafeMessage, "the answer of the search service is ") {
			t.Errorf("%.20q: %+v", bad, r)
		}
	}
	for _, status = range []int{http.StatusFound, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway} {
		if r := call(`{"query":"x"}`).Result; r.OK || !strings.Contains(r.SafeMessage, fmt.Sprintf("the search service answered %d", status)) {
			t.Errorf("%d: %+v", status, r)
		}
	}
	server.Close()
	if r := call(`{"query":"x"}`).Result; r.OK || !strings.Contains(r.SafeMessage, "the search service cannot be asked") || strings.Contains(r.SafeMessage, "127.0.0.1") {
		t.Errorf("%+v", r)
	}
}

// TestBrave: core__web_search over a server of the shape of Brave's. The key of the connection goes to the service and is nowhere else.
func TestBrave(t *testing.T) {
	const canary = "BSA-canary-7Qm3Xv9Lk2Wd8Rt4"
	providers, err := broker.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	connection := &pawltest.Connection{Credential: map[string]string{broker.FieldKey: canary}}
	for _, p := range providers {
		if p.ID == "brave" {
			connection.Provider = p
		}
	}
	status, asked := http.StatusOK, 0
	connection.Service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		key := r.Header.Get("X-Subscription-Token")
		if key != canary || r.Host != "api.search.brave.com" || r.URL.Path != "/res/v1/web/search" || r.URL.Query().Get("q") != "pawl" || r.URL.Query().Get("count") != "2" {
			t.Errorf("asked for %s with %q", r.URL, r.Header)
		}
		if status == http.StatusFound {
			http.Redirect(w, r, "https://api.search.brave.com/elsewhere?key="+key, status)
			return
		}
		w.WriteHeader(status)
		// A service that repeats the key must not bring it into a result.
		_, _ = fmt.Fprintf(w, `{"web":{"results":[{"title":"your key %s","url":"https://a.test/?k=%s","description":"<strong>Pawl</strong> %s"}]},"error":%q}`, key, key, key, key)
	})
	searcher, err := web.NewSearcher(web.SearchOptions{Service: "brave"})
	if err != nil || !searcher.NeedsConnection() {
		t.Fatal(err)
	}
	call := pawltest.Call{
		Tool: tools.WebSearchConnected(), Args: `{"query":"pawl","limit":2}`, Connection: connection,
		Capabilities: []toolspec.Provided{capability.SearchKey.Provide(searcher)},
	}
	for _, status = range []int{http.StatusOK, http.StatusFound, http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		asked = 0
		a := call.Run(t)
		if a.Result.OK != (status == http.StatusOK) || asked == 0 {
			t.Errorf("%d: %+v, asked %d times", status, a.Result, asked)
		}
		all, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(all) + a.Log + string(a.Value) + string(a.ModelContent); strings.Contains(text, canary) {
			t.Errorf("%d: the key is in %s", status, text)
		}
		if status == http.StatusOK && !strings.Contains(string(a.Value), "Pawl") {
			t.Errorf("the result is %s", a.Value)
		}
	}
	call.Connection = nil
	if r := call.Run(t).Result; r.OK {
		t.Errorf("without a connection: %+v", r)
	}
}

// TestSearcherOptions: a configuration that cannot work is refused.
func TestSearcherOptions(t *testing.T) {
	for _, o := range []web.SearchOptions{
		{}, {Service: "google"}, {Service: "searxng"}, {Service: "searxng", URL: "searx.test"}, {Service: "searxng", URL: "file:///x"},
		{Service: "searxng", URL: "http://a:b@searx.test"}, {Service: "searxng", URL: "http://searx.test/?x=y"},
	} {
		if s, err := web.NewSearcher(o); err == nil {
			t.Errorf("%+v: %+v", o, s)
		}
	}
}
