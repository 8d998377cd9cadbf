package policy_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// TestCacheFor: policy gives, shortens and forbids; it never lengthens. Without an
// entry the tool's own word counts, and without either nothing is kept.
func TestCacheFor(t *testing.T) {
	p, err := policy.Parse("test.yaml", []byte(`
version: 1
tenants:
  acme:
    allowedTools: ["*"]
    cache:
      - {tool: core__secretive, for: never}
      - {tool: core__fresh, for: 5s}
      - {tool: "core__*", for: 1h}
  globex:
    allowedTools: ["*"]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		tenant, tool string
		declared     time.Duration
		want         time.Duration
	}{
		{"acme", "core__other", 0, time.Hour},
		{"acme", "core__other", time.Minute, time.Minute},
		{"acme", "core__other", 2 * time.Hour, time.Hour},
		{"acme", "core__other", toolspec.NeverCached, 0},
		{"acme", "core__fresh", time.Hour, 5 * time.Second},
		{"acme", "core__fresh", 0, 5 * time.Second},
		{"acme", "core__secretive", time.Hour, 0},
		{"acme", "core__secretive", 0, 0},
		{"acme", "web__get", 0, 0},
		{"acme", "web__get", time.Minute, time.Minute},
		{"globex", "core__other", 0, 0},
		{"globex", "core__other", time.Minute, time.Minute},
		{"nobody", "core__other", time.Minute, 0},
	} {
		if got := p.CacheFor(tc.tenant, tc.tool, tc.declared); got != tc.want {
			t.Errorf("%+v: got %s", tc, got)
		}
	}
	var none *policy.Policy
	if got := none.CacheFor("acme", "core__other", time.Minute); got != 0 {
		t.Errorf("no policy keeps for %s", got)
	}
	again, err := policy.Parse("stored", p.Source())
	if err != nil || again.Digest() != p.Digest() || again.CacheFor("acme", "core__fresh", time.Hour) != 5*time.Second {
		t.Errorf("what is stored reads as another policy: %v", err)
	}
}
