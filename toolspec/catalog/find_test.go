package catalog_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

func versioned(text string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Version = text }
}

// TestFind: a call finds the definition with which it was admitted as long as the source has it, also if the tool is gone. Everybody else finds
// the definition of now.
func TestFind(t *testing.T) {
	t.Parallel()
	r, from := catalog.NewRegistry(provided(t)), source.Info{Kind: source.Registered}
	one, two := named("tenant-a__x", versioned("1")), named("tenant-a__x", versioned("2"))
	digest := func(tool toolspec.Tool) string {
		b, err := catalog.Bind(tool, provided(t))
		if err != nil {
			t.Fatal(err)
		}
		return b.Digest()
	}
	want := func(step, of, text string) {
		t.Helper()
		b, ok := r.Find("tenant-a__x", of)
		got := ""
		if ok {
			got = b.Definition().Version
		}
		if got != text {
			t.Errorf("%s: found %q, want %q", step, got, text)
		}
	}
	r.Replace(from, []toolspec.Tool{one}, nil)
	want("one", digest(two), "1")
	r.Replace(from, []toolspec.Tool{two}, []toolspec.Tool{one})
	want("two", digest(one), "1")
	want("two", digest(two), "2")
	want("two", "", "2")
	r.Replace(from, nil, []toolspec.Tool{one, named("bad id", versioned("x"))})
	want("gone", digest(one), "1")
	want("gone", digest(two), "")
	want("gone", "", "")
	if _, ok := r.Get("tenant-a__x"); ok || len(r.Specs()) > 0 {
		t.Error("an earlier definition is offered")
	}
	r.Replace(from, nil, nil)
	want("no longer in use", digest(one), "")
}

// TestNamespacesOfTenants: only registered tools have the namespaces of tenants, and they have no other.
func TestNamespacesOfTenants(t *testing.T) {
	t.Parallel()
	for _, kind := range source.Kinds() {
		for _, id := range []string{"tenant-a__x", "mcp__tenant-a_docs__x", "words__x"} {
			r, given := catalog.NewRegistry(provided(t)), func(d *toolspec.Definition) {
				if strings.HasPrefix(d.ID, "mcp__") {
					d.Discovered = &toolspec.Discovered{Digest: strings.Repeat("a", 64), Name: "x"}
				}
			}
			_, left := r.Replace(source.Info{Kind: kind}, []toolspec.Tool{named(id, given)}, []toolspec.Tool{named(id, given)})
			allowed := (kind == source.Registered) == strings.Contains(id, "tenant-")
			if (len(left) == 0) != allowed {
				t.Errorf("%s of %s: left out %v", id, kind, left)
			}
			if err := r.Add(string(kind), named(id+"2", given)); (err == nil) != allowed {
				t.Errorf("%s of %s: %v", id, kind, err)
			}
		}
	}
}
