package catalog_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", file, got)
	}
}

type in struct {
	Path  string `json:"path" jsonschema_description:"what to read"`
	Note  string `json:"note,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

type out struct {
	Text    string  `json:"text"`
	Entries []entry `json:"entries,omitempty"`
}

type entry struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

func definition() toolspec.Definition {
	return toolspec.Definition{
		ID: "core__read", Title: "Read", Description: "Reads.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction:    toolspec.Redaction{Allow: []string{"/text", "/entries/*/name"}, MaskInput: []string{"/note"}},
		Capabilities: []toolspec.CapabilityName{"clock"}, Tags: []string{"files"},
	}
}

func tool[In, Out any](d toolspec.Definition) toolspec.Tool {
	return toolspec.Define(d, func(context.Context, In, toolspec.Call) (o Out, err error) { return o, nil })
}

func provided(t *testing.T) toolspec.Capabilities {
	t.Helper()
	caps, err := toolspec.NewCapabilities(toolspec.NewCapability[int]("clock").Provide(1), toolspec.NewCapability[int]("files").Provide(2))
	if err != nil {
		t.Fatal(err)
	}
	return caps
}

func bind(t *testing.T, tool toolspec.Tool) *catalog.Bound {
	t.Helper()
	b, err := catalog.Bind(tool, provided(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSpecKeys: the golden file lists all members that a published spec can have, including
// optional ones (SP-01).
func TestSpecKeys(t *testing.T) {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[toolspec.Spec]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	slices.Sort(keys)
	golden(t, "spec_keys.golden", strings.Join(keys, "\n")+"\n")
}

// TestSpec: the digests in the golden file are a wire contract, because approvals record them.
func TestSpec(t *testing.T) {
	encoded, err := json.MarshalIndent(bind(t, tool[in, out](definition())).Spec(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "spec.golden", string(encoded)+"\n")
}

func TestCatalogFilter(t *testing.T) {
	r := catalog.NewRegistry(provided(t))
	for _, id := range []string{"core__visible", "core__hidden", "core__asks", "core__depends", "core__strange"} {
		d := definition()
		d.ID = id
		if err := r.Add("test", tool[in, out](d)); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	c := catalog.New(r.Specs(), func(s toolspec.Spec) catalog.Visibility {
		asked = append(asked, s.Name)
		return map[string]catalog.Visibility{"core__visible": catalog.Visible, "core__asks": catalog.VisibleWithApproval, "core__depends": catalog.VisibleDepending, "core__strange": 7}[s.Name]
	})
	if !slices.Equal(asked, []string{"core__asks", "core__depends", "core__hidden", "core__strange", "core__visible"}) {
		t.Errorf("policy was asked about %v", asked)
	}
	var got []string
	for _, e := range c.List() {
		got = append(got, e.Name+map[bool]string{true: " asks"}[e.NeedsApproval]+map[bool]string{true: " depends"}[e.DependsOnArguments])
	}
	if !slices.Equal(got, []string{"core__asks asks", "core__depends depends", "core__visible"}) {
		t.Errorf("visible: %v", got)
	}
	if e, ok := c.Get("core__asks"); !ok || !e.NeedsApproval {
		t.Errorf("got %+v, %v", e, ok)
	}
	for _, id := range []string{"core__hidden", "core__strange", "core__none", ""} {
		if e, ok := c.Get(id); ok || e.Name != "" {
			t.Errorf("%s is seen: %+v", id, e)
		}
	}
	c.List()[0].Name = "X"
	if _, ok := c.Get("core__asks"); !ok {
		t.Error("a write into the list reached the catalog")
	}
	// A tool that is removed after the catalog was made stays visible in this catalog. The next
	// catalog does not have it.
	r.Remove("core__visible")
	if _, ok := catalog.New(r.Specs(), func(toolspec.Spec) catalog.Visibility { return catalog.Visible }).Get("core__visible"); ok {
		t.Error("a removed tool is listed")
	}
}

// TestRegistry: register, get, unregister, get (RG-03).
func TestRegistry(t *testing.T) {
	r := catalog.NewRegistry(provided(t))
	var _ catalog.Source = r
	if b, ok := r.Get("core__read"); ok || b != nil || len(r.Specs()) != 0 || r.Remove("core__read") {
		t.Error("an empty registry returns a tool")
	}
	second := definition()
	second.ID = "core__a"
	if err := r.Add("builtin", tool[in, out](definition()), tool[in, out](second)); err != nil {
		t.Fatal(err)
	}
	specs := r.Specs()
	if len(specs) != 2 || !slices.IsSortedFunc(specs, func(a, b toolspec.Spec) int { return cmp.Compare(a.Name, b.Name) }) || specs[0].Origin != "builtin" {
		t.Errorf("specs %+v", specs)
	}
	b, ok := r.Get("core__read")
	if !ok || b.ID() != "core__read" {
		t.Fatalf("got %v, %v", b, ok)
	}
	// Add the same id again, from the same origin and from another one.
	err := r.Add("plugin", tool[in, out](definition()))
	if err == nil || err.Error() != "tool core__read: the id is taken: it comes from builtin and from plugin" {
		t.Errorf("got %v", err)
	}
	if err := r.Add("builtin", tool[in, out](definition())); err == nil || !strings.Contains(err.Error(), "two tools of the same source (builtin)") {
		t.Errorf("twice from one source: %v", err)
	}
	if again, _ := r.Get("core__read"); again != b {
		t.Error("the tool was replaced")
	}
	if !r.Remove("core__read") || r.Remove("core__read") {
		t.Error("Remove does not report whether it removed a tool")
	}
	if _, ok := r.Get("core__read"); ok || len(r.Specs()) != 1 {
		t.Error("the tool is still there")
	}
	if err := r.Add("plugin", tool[in, out](definition())); err != nil {
		t.Errorf("the id is not free again: %v", err)
	}
}

// TestSpecsAreCopies: a change of a returned spec changes no later listing (RG-27).
func TestSpecsAreCopies(t *testing.T) {
	r := catalog.NewRegistry(provided(t))
	if err := r.Add("test", tool[in, out](definition())); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(r.Specs())
	if err != nil {
		t.Fatal(err)
	}
	s := r.Specs()[0]
	s.InputSchema[0], s.OutputSchema[0] = 'X', 'X'
	s.Redaction.Allow[0], s.Redaction.MaskInput[0], s.Tags[0], s.Capabilities[0] = "X", "X", "X", "X"
	b, _ := r.Get("core__read")
	d := b.Definition()
	d.Redaction.Allow[0], d.Tags[0] = "", "X"
	after, err := json.Marshal(r.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if string(after) != string(before) {
		t.Errorf("got %s, before %s", after, before)
	}
	if safe, err := b.Redact(json.RawMessage(`{"text":"a","entries":[{"name":"n","owner":"o"}]}`)); err != nil || string(safe) != `{"entries":[{"name":"n"}],"text":"a"}` {
		t.Errorf("redacts to %s (%v)", safe, err)
	}
}

// TestBound: each method of Bound that the runner uses (RG-18).
func TestBound(t *testing.T) {
	b := bind(t, tool[in, out](definition()))
	if got := b.Capabilities().Names(); !slices.Equal(got, []toolspec.CapabilityName{"clock"}) {
		t.Errorf("it has %v", got)
	}
	if inType, _ := b.Tool().Types(); inType != reflect.TypeFor[in]() {
		t.Errorf("the tool is of %v", inType)
	}
	if b.Digest() != b.Spec().Digest || b.Definition().ID != "core__read" {
		t.Error("members disagree")
	}
	kinds := func(found []toolspec.Problem) (kinds []string) {
		for _, p := range found {
			kinds = append(kinds, p.Kind+" "+p.Path)
		}
		return kinds
	}
	for _, tc := range []struct {
		what string
		got  []toolspec.Problem
		want []string
	}{
		{"input", b.ValidateInput(json.RawMessage(`{"path":"a"}`)), nil},
		{"bad input", b.ValidateInput(json.RawMessage(`{"limit":"x","other":1}`)), []string{"missing_required /path", "type_mismatch /limit", "unknown_property /other"}},
		{"output", b.ValidateOutput(json.RawMessage(`{"text":"a","entries":[{"name":"n","owner":"o"}]}`)), nil},
		{"bad output", b.ValidateOutput(json.RawMessage(`{"text":"a","entries":[{"name":"n"}]}`)), []string{"missing_required /entries/0/owner"}},
		{"redacted", b.ValidateRedacted(json.RawMessage(`{"text":"a","entries":[{"name":"n"}]}`)), nil},
		{"not redacted", b.ValidateRedacted(json.RawMessage(`{"text":"a","entries":[{"name":"n","owner":"o"}]}`)), []string{"unknown_property /entries/0/owner"}},
	} {
		if got := kinds(tc.got); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
	safe, err := b.SafeArgs(json.RawMessage(`{"path":"a","note":"canary"}`))
	if err != nil || string(safe) != `{"note":"***","path":"a"}` {
		t.Errorf("safe args %s (%v)", safe, err)
	}
}
