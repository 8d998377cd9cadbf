package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
)

func spec(id string) toolspec.Spec {
	return toolspec.Spec{Name: id, Description: "does " + id, InputSchema: json.RawMessage(`{"type":"object"}`), SchemaHash: "hash of " + id, Digest: "digest of " + id}
}

func specs(ids ...string) (all []toolspec.Spec) {
	for _, id := range ids {
		all = append(all, spec(id))
	}
	return all
}

// TestSentName holds the names down: what was sent once is resolved by later
// versions (SP-31).
func TestSentName(t *testing.T) {
	t.Parallel()
	long := "mcp__github__" + strings.Repeat("create_pull_request_", 4)
	for id, want := range map[string]string{
		"core__ls":                   "core__ls",
		"mcp__github__create-issue":  "mcp__github__create-issue",
		strings.Repeat("a", 64):      strings.Repeat("a", 64),
		"mcp__notes__search.all":     "mcp__notes__search_all_nyrov4lm7wta6mlg",
		"mcp__notes__search all":     "mcp__notes__search_all_cro25mk7yw3wo5ps",
		"7zip__pack":                 "_7zip__pack_mcdbozyfbr3qqsi7",
		long + "a":                   "",
		long + "b":                   "",
		"":                           "",
		"mcp__x__a_nyrov4lm7wta6mlg": "",
	} {
		got := wire.SentName(id)
		if want != "" && got != want {
			t.Errorf("%q is sent as %s, want %s", id, got, want)
		}
		if want == "" && (got == id || !wire.SafeName(got)) {
			t.Errorf("%q is sent as %s", id, got)
		}
	}
	if a, b := wire.SentName(long+"a"), wire.SentName(long+"b"); a == b || len(a) != wire.MaxName {
		t.Errorf("two long ids are sent as %s and %s", a, b)
	}
}

// TestSentNames: every id has a name that all providers take, and no two have the
// same.
func TestSentNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.OneOf(
			rapid.StringMatching(`mcp__[a-z.]{1,3}__[a-b ._-]{0,3}`), rapid.StringMatching(`[A-Za-z0-9_.-]{60,128}`), rapid.StringN(1, 128, -1),
		), 1, 40, rapid.ID).Draw(t, "ids")
		// Names are ids as well: nobody can take another's name by choosing it.
		for _, id := range ids[:min(len(ids), 5)] {
			if name := wire.SentName(id); name != id {
				ids = append(ids, name)
			}
		}
		seen := map[string]string{}
		for _, id := range ids {
			name := wire.SentName(id)
			if !wire.SafeName(name) || strings.ContainsAny(name[:1], "0123456789-") {
				t.Fatalf("%q is sent as %q", id, name)
			}
			if other, taken := seen[name]; taken && other != id {
				t.Fatalf("%q and %q are both sent as %s", id, other, name)
			}
			seen[name] = id
		}
	})
}

// TestLongForeignNames: two names of another server's, of 70 characters and the
// same but for the last, are registered under ids that fit, offered under names
// that fit, and reach their own tools by their true names (SP-31).
func TestLongForeignNames(t *testing.T) {
	t.Parallel()
	registry := catalog.NewRegistry(toolspec.Capabilities{})
	var trueNames []string
	for _, last := range []string{"a", "b"} {
		name := strings.Repeat("create_pull_request_", 4)[:69] + last
		trueNames = append(trueNames, name)
		err := registry.Add("mcp", toolspec.DefineSchema(toolspec.Definition{
			ID: toolspec.MCPToolID("github", name), Discovered: &toolspec.Discovered{Digest: "d"}, Description: "A tool of a server.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/called"}},
		}, json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object","properties":{"called":{"type":"string"}}}`),
			func(context.Context, json.RawMessage, toolspec.Call) (json.RawMessage, error) {
				return json.Marshal(map[string]string{"called": name})
			}))
		if err != nil {
			t.Fatal(err)
		}
	}
	offer, tools, err := wire.NewOffer(registry.Specs(), nil)
	if err != nil || len(tools) != 2 || tools[0].Name == tools[1].Name {
		t.Fatalf("offered as %+v, %v", tools, err)
	}
	var called []string
	for _, tool := range tools {
		offered, err := offer.Resolve(tool.Name)
		if err != nil || len(tool.Name) > wire.MaxName || len(offered.ToolID) > wire.MaxName {
			t.Fatalf("%s is %+v, %v", tool.Name, offered, err)
		}
		bound, ok := registry.Get(offered.ToolID)
		if !ok {
			t.Fatalf("no tool %s", offered.ToolID)
		}
		value, err := bound.Tool().Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
		if err != nil {
			t.Fatal(err)
		}
		var out struct{ Called string }
		if err := json.Unmarshal(value, &out); err != nil {
			t.Fatal(err)
		}
		called = append(called, out.Called)
	}
	if slices.Sort(called); !slices.Equal(called, trueNames) {
		t.Errorf("called %q, want %q", called, trueNames)
	}
}

// TestOffer: the tools in their order, the mapping kept and read back (RG-09,
// RG-26).
func TestOffer(t *testing.T) {
	t.Parallel()
	offer, tools, err := wire.NewOffer(specs("core__ls", "mcp__notes__search.all"), func(s toolspec.Spec) (wire.Form, error) {
		if s.Name == "core__ls" {
			return wire.Form{Schema: json.RawMessage(`{"type":"object","strict":1}`), Strict: true, Mapping: json.RawMessage(`{"/path":"absent"}`)}, nil
		}
		return wire.Form{Schema: s.InputSchema}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || tools[0].Name != "core__ls" || !tools[0].Strict || string(tools[0].Schema) != `{"type":"object","strict":1}` ||
		tools[1].Name != wire.SentName("mcp__notes__search.all") || tools[1].Description != "does mcp__notes__search.all" || tools[1].Strict {
		t.Errorf("tools: %+v", tools)
	}
	kept, err := json.Marshal(offer)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"tools":[` +
		`{"name":"core__ls","toolId":"core__ls","toolDigest":"digest of core__ls","schemaHash":"hash of core__ls","strict":true,"mapping":{"/path":"absent"}},` +
		`{"name":"mcp__notes__search_all_nyrov4lm7wta6mlg","toolId":"mcp__notes__search.all","toolDigest":"digest of mcp__notes__search.all","schemaHash":"hash of mcp__notes__search.all"}]}`
	if string(kept) != want {
		t.Errorf("kept\n%s\nwant\n%s", kept, want)
	}
	read := readOffer(t, string(kept))
	if err := read.Check(); err != nil {
		t.Fatal(err)
	}
	if got, err := read.Resolve(tools[1].Name); err != nil || got.ToolID != "mcp__notes__search.all" || got.ToolDigest != "digest of mcp__notes__search.all" {
		t.Errorf("resolved to %+v, %v", got, err)
	}
}

func readOffer(t *testing.T, kept string) (o wire.Offer) {
	t.Helper()
	if err := json.Unmarshal([]byte(kept), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOfferRefused(t *testing.T) {
	t.Parallel()
	if _, _, err := wire.NewOffer(specs("core__ls", "core__ls"), nil); err == nil || !strings.Contains(err.Error(), "core__ls is offered twice") {
		t.Errorf("a tool twice: %v", err)
	}
	broken := errors.New("cannot be strict")
	if _, _, err := wire.NewOffer(specs("core__ls"), func(toolspec.Spec) (wire.Form, error) { return wire.Form{}, broken }); !errors.Is(err, broken) || !strings.Contains(err.Error(), "core__ls") {
		t.Errorf("a form that fails: %v", err)
	}
	for want, kept := range map[string]string{
		"version 2":            `{"v":2,"tools":[]}`,
		"version 0":            `{}`,
		"both be called a":     `{"v":1,"tools":[{"name":"a","toolId":"x__a"},{"name":"a","toolId":"y__a"}]}`,
		"no name that a":       `{"v":1,"tools":[{"name":"a.b","toolId":"x__a"}]}`,
		"a tool without an id": `{"v":1,"tools":[{"name":"a"}]}`,
	} {
		if err := readOffer(t, kept).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kept, err)
		}
	}
}

// TestResolve: by the name that was sent; aliases where they mean one tool (C-09,
// HY-11).
func TestResolve(t *testing.T) {
	t.Parallel()
	offer, _, err := wire.NewOffer(specs("core__ls", "core__search", "mcp__notes__search", "mcp__notes__find.all", "mcp__a__core__ls", "acme__ls2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"core__ls":              "core__ls", // and not mcp__a__core__ls, whose bare name it is
		"ls":                    "core__ls",
		"ls2":                   "acme__ls2",
		"mcp__notes__find.all":  "mcp__notes__find.all",
		"find.all":              "mcp__notes__find.all",
		"mcp__notes__search":    "mcp__notes__search",
		"search":                "ambiguous: core__search or mcp__notes__search",
		"notes__search":         "none",
		"core__write_file":      "none",
		"":                      "none",
		"functions.core__ls":    "none",
		"CORE__LS":              "none",
		"mcp__notes__find_all":  "none",
		"mcp__notes__find_all_": "none",
	} {
		got, err := offer.Resolve(name)
		switch kind, rest, _ := strings.Cut(want, ": "); {
		case kind == "none":
			if !errors.Is(err, wire.ErrNotOffered) {
				t.Errorf("%q is %+v, %v", name, got, err)
			}
		case kind == "ambiguous":
			if !errors.Is(err, wire.ErrAmbiguous) || !strings.Contains(err.Error(), rest) {
				t.Errorf("%q is %+v, %v", name, got, err)
			}
		case err != nil || got.ToolID != want:
			t.Errorf("%q is %+v, %v, want %s", name, got, err, want)
		}
	}
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"core__ls": "core__ls", "functions.f:0": "functions_f_0", "": "_", "é": "__", strings.Repeat("a.", 50): strings.Repeat("a_", 32),
	} {
		if got := wire.Repeatable(name); got != want {
			t.Errorf("%q is repeated as %q, want %q", name, got, want)
		}
	}
}
