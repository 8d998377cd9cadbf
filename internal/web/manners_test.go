package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

// TestRequest: a request says that it is Pawl's, and nothing else of anybody: no cookie, credential or Referer, also after a redirect.
func TestRequest(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "hello")
	})
	h.name("public.test", public)
	f := h.fetcher()
	for range 2 {
		if _, err := fetch(t, f, "http://public.test/#fragment"); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.headers) != 5 { // robots.txt once
		t.Errorf("%d requests: %q", len(h.headers), h.seen)
	}
	for _, headers := range h.headers {
		for name := range headers {
			if !slices.Contains([]string{"User-Agent", "Accept", "Accept-Encoding"}, name) {
				t.Errorf("it sends %s: %q", name, headers[name])
			}
		}
		if agent := headers.Get("User-Agent"); agent != "Pawl/1.2.3 (+https://github.com/pawl-run/pawl)" {
			t.Errorf("it is %q", agent)
		}
	}
}

// TestRobots: robots.txt is asked once per host and tenant, and counts.
func TestRobots(t *testing.T) {
	asked := map[string]int{}
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != robotsPath {
			_, _ = io.WriteString(w, "hello")
			return
		}
		asked[r.Host]++
		switch r.Host {
		case "robots.test":
			_, _ = io.WriteString(w, "\ufeffUser-agent: *\nDisallow: /\n\nUser-agent: pawl\nDisallow: /private\nAllow: /private/open\nDisallow: /*.zip$\n")
		case "robots-all.test":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /\n")
		case "robots-down.test":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "robots-html.test":
			_, _ = io.WriteString(w, "<html>Disallow: /")
		case "robots-moved.test":
			http.Redirect(w, r, "http://robots-all.test/robots.txt", http.StatusFound)
		case "robots-loop.test":
			http.Redirect(w, r, robotsPath, http.StatusFound)
		case "robots-large.test":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n"+strings.Repeat("User-agent: a\n", 1<<18)+strings.Repeat("Disallow: /*x\n", 1<<18))
		}
	})
	f := h.fetcher()
	for host, answers := range map[string]map[string]bool{
		"robots.test":       {"/": true, "/private/a": false, "/private/open": true, "/a.zip": false, "/a.zip?b": true, "/robots.txt": true},
		"robots-all.test":   {"/": false, "/a?b": false, "/robots.txt": true},
		"robots-down.test":  {"/": false},
		"robots-html.test":  {"/": true},
		"robots-moved.test": {"/": true},
		"robots-loop.test":  {"/": true},
		"robots-large.test": {"/": true, "/private": false},
	} {
		h.name(host, public)
		for path, want := range answers {
			_, err := fetch(t, f, "http://"+host+path)
			if (err == nil) != want || err != nil && faultOf(err) != capability.WebRobots {
				t.Errorf("%s%s: %v, want %v", host, path, err, want)
			}
		}
	}
	if asked["robots-large.test"] != 1 {
		t.Errorf("asked %v", asked)
	}
	if _, err := f.Fetch(t.Context(), capability.WebRequest{URL: "http://robots-large.test/", TenantID: "other"}); err != nil || asked["robots-large.test"] != 2 {
		t.Errorf("another tenant: %v, asked %v", err, asked)
	}
}

// TestRules: one line that is not understood does not switch off the others, and no form of a path goes around a rule.
func TestRules(t *testing.T) {
	const all = "User-agent: *\nDisallow: /\n"
	for name, c := range map[string]struct {
		text    string
		yes, no string // paths, with spaces between
	}{
		"crawl-delay":      {"User-agent: *\nCrawl-delay: x\nDisallow: /\n", "", "/ /a"},
		"before agents":    {"Disallow: /x\nSitemap: y\nAllow: /\n" + all, "", "/ /a"},
		"no value":         {"User-agent\nUser-agent: *\nfoo\n:\nDisallow\nDisallow: /a", "/", "/a"},
		"bad text":         {"User-agent: *\nDisallow: /\xff\xfe(\\[\nDisallow: /a", "/", "/a"},
		"unknown lines":    {"User-agent: *\nHost: x\n\nDisallow: /a", "/", "/a"},
		"several agents":   {"User-agent: b\nUser-agent: pawl/2.0 \nCrawl-delay: 3\nDisallow: /a # all\nUser-agent: *\nDisallow: /b", "/b", "/a"},
		"two groups":       {"User-agent: PAWL\nDisallow: /a\nUser-agent: c\nDisallow: /c\nUser-agent: Pawl\nDisallow: /b", "/ /c", "/a /b"},
		"own without rule": {all + "User-agent: Pawl\nDisallow:\n", "/ /a", ""},
		"other agent":      {"User-agent: P\nDisallow: /\nUser-agent: pawlish\nDisallow: /", "/", ""},
		"no agent":         {"Disallow: /", "/", ""},
		"star":             {"User-agent: *\nDisallow: *", "", "/ /a"},
		"many stars":       {"User-agent: *\nDisallow: /" + strings.Repeat("*", 1000) + "a\nDisallow: /" + strings.Repeat("*b", 17), "/ /" + strings.Repeat("b", 17), "/a /xa"},
		"wildcards":        {"User-agent: *\nDisallow: /*a*c$\nDisallow: /x$\nDisallow: /*?s=", "/ac/ /xx /ca /x/ /y?t=", "/ac /abcc /zac /x /y?s=1 /?s="},
		"longest":          {all + "Allow: /a\nDisallow: /a/b\nAllow: /a/b", "/a /a/b /ab", "/ /b"},
		"a long line":      {"User-agent: *\nDisallow: /" + strings.Repeat("a", maxRule) + "\nDisallow: /b", "/" + strings.Repeat("a", maxRule+1), "/b"},
		"forms of a path":  {"User-agent: *\nDisallow: /private\nDisallow: /~joe\nDisallow: /f%c3%bc\nDisallow: /*?print=", "/ /privat", "/private/x /%70rivate //private /a/../private /a/%2e%2e/private/ /./private /%7Ejoe /%7ejoe /f%C3%BC /f%c3%bc /x?%70rint=1 /x%0A?%70rint=1"},
		"allowed forms":    {all + "Allow: /%7Ejoe\nAllow: /f\u00fc", "/~joe /%7Ejoe /f%C3%BC /f%c3%bc", "/ /%2e/%7ejo"},
		"a way out":        {all + "Allow: /open/", "/open/a", "/open/../a /open/%2e%2e/a"},
	} {
		r := &rules{list: parseRobots([]byte(c.text))}
		for paths, want := range map[string]bool{c.yes: true, c.no: false} {
			for path := range strings.FieldsSeq(paths) {
				u, err := weburl.Parse("http://a.test" + path)
				if len(path) > maxRule {
					u, err = &url.URL{Path: path}, nil
				}
				if err != nil || r.allow(u) != want {
					t.Errorf("%s: %.50s: %v, want %v", name, path, err, want)
				}
			}
		}
	}
}

// TestCache: a page is used again as its headers say, for its tenant only.
func TestCache(t *testing.T) {
	type step struct {
		tenant     string
		asked      bool // the server is asked
		unmodified bool // and has answered that nothing has changed
	}
	for name, c := range map[string]struct {
		headers string
		steps   []step
	}{
		"max-age":           {"Cache-Control: max-age=600", []step{{"a", true, false}, {"a", false, false}, {"b", true, false}, {"b", false, false}, {"a", false, false}}},
		"private":           {"Cache-Control: private, max-age=600", []step{{"a", true, false}, {"a", false, false}}},
		"no-store":          {"Cache-Control: no-store, max-age=600\nEtag: \"x\"", []step{{"a", true, false}, {"a", true, false}}},
		"no-cache":          {"Cache-Control: no-cache, max-age=600\nEtag: \"x\"", []step{{"a", true, false}, {"a", true, true}, {"b", true, false}}},
		"etag":              {"Etag: W/\"x\"\nCache-Control: max-age=0", []step{{"a", true, false}, {"a", true, true}, {"a", true, true}, {"b", true, false}}},
		"last-modified":     {"Last-Modified: Tue, 03 Nov 2020 10:00:00 GMT\nCache-Control: max-age=0", []step{{"a", true, false}, {"a", true, true}}},
		"aged":              {"Cache-Control: max-age=600\nAge: 601", []step{{"a", true, false}, {"a", true, false}}},
		"expired":           {"Expires: Tue, 03 Nov 2020 10:00:00 GMT", []step{{"a", true, false}, {"a", true, false}}},
		"vary":              {"Cache-Control: max-age=600\nVary: *", []step{{"a", true, false}, {"a", true, false}}},
		"nothing":           {"", []step{{"a", true, false}, {"a", true, false}}},
		"malformed":         {"Cache-Control: max-age=x, \"", []step{{"a", true, false}, {"a", true, false}}},
		"negative":          {"Cache-Control: max-age=-5", []step{{"a", true, false}, {"a", true, false}}},
		"far in the future": {"Cache-Control: max-age=999999999999", []step{{"a", true, false}, {"a", false, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			n, unmodified := 0, false
			h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
				for line := range strings.Lines(c.headers) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					w.Header().Set(name, value)
				}
				etag, modified := w.Header().Get("Etag"), w.Header().Get("Last-Modified")
				if unmodified = etag != "" && r.Header.Get("If-None-Match") == etag || modified != "" && r.Header.Get("If-Modified-Since") == modified; unmodified {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				n++
				_, _ = fmt.Fprintf(w, "page %d", n)
			})
			h.name("public.test", public)
			f := h.fetcher()
			last := map[string]string{}
			for i, s := range c.steps {
				unmodified = false
				page, err := f.Fetch(t.Context(), capability.WebRequest{URL: "http://public.test/", TenantID: s.tenant})
				asked := len(h.requests()) > 0
				if err != nil || asked != s.asked || unmodified != s.unmodified || page.URL != "http://public.test/" {
					t.Errorf("step %d: %+v, %v, asked %v, unmodified %v", i, page, err, asked, unmodified)
				}
				if (!s.asked || s.unmodified) && page.Text != last[s.tenant] || s.asked && !s.unmodified && page.Text != fmt.Sprintf("page %d", n) {
					t.Errorf("step %d: %q, before %q", i, page.Text, last[s.tenant])
				}
				last[s.tenant] = page.Text
			}
		})
	}
}

// TestCacheIsBounded: pages beyond the bounds are not kept.
func TestCacheIsBounded(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		size := 10
		if r.URL.Path == "/large" {
			size = maxKeptText + 1
		}
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	})
	h.name("public.test", public)
	f := h.fetcher()
	for i := range maxKept + 10 {
		if _, err := fetch(t, f, fmt.Sprintf("http://public.test/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := fetch(t, f, "http://public.test/large"); err != nil {
			t.Fatal(err)
		}
	}
	if seen := h.requests(); f.pages.Len() != maxKept || len(seen) != maxKept+12 {
		t.Errorf("%d pages are kept, %d requests", f.pages.Len(), len(seen))
	}
}
