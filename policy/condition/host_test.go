package condition

import (
	"strings"
	"testing"
)

// TestHost: host reads a URL as the adapter does that fetches it, and what that refuses fails.
func TestHost(t *testing.T) {
	listed := mustCompile(t, `host(args.url) in ["go.dev", "example.com"] || host(args.url).endsWith(".example.com")`)
	for url, want := range map[string]Truth{
		"https://example.com/":                             Yes,
		"https://EXAMPLE.com.:8443/x?y#z":                  Yes,
		"https://a.b.example.com/":                         Yes,
		"https://ｅｘａｍｐｌｅ．com":                              Yes,
		"https://evil.test/example.com":                    No,
		"https://evil.test?example.com":                    No,
		"https://evil.test#.example.com":                   No,
		"https://notexample.com/":                          No,
		"https://example.com.evil.test/":                   No,
		"https://example.com@evil.test/":                   Failed,
		`https://example.com\\@evil.test/`:                 Failed,
		"https://evil.test\\u0000.example.com/":            Failed,
		"ftp://example.com/":                               Failed,
		"example.com":                                      Failed,
		"https://example.com/" + strings.Repeat("a", 2048): Failed,
	} {
		if got := asked(listed, `{"url":"`+url+`"}`); got != want {
			t.Errorf("%.60s: %v, want %v", url, got, want)
		}
	}
	if got := asked(listed, `{"url":7}`); got != Failed {
		t.Errorf("a number: %v", got)
	}
	if got := asked(listed, ""); got != Undetermined {
		t.Errorf("before the arguments are known: %v", got)
	}
	if got := asked(mustCompile(t, `args.urls.all(u, host(u) == "example.com")`), `{"urls":["https://example.com/a","http://example.com/b"]}`); got != Yes {
		t.Errorf("a list: %v", got)
	}
}
