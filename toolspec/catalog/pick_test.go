package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func spec(id, description string, tags ...string) toolspec.Spec {
	return toolspec.Spec{
		Name: id, Title: id, Description: description, Tags: tags, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		InputSchema: json.RawMessage(`{"type":"object"}`),
	}
}

// TestPickOrder (PT-02): tools are ordered by score, tools with equal scores by id, and each has a
// Why.
func TestPickOrder(t *testing.T) {
	c := shown([]toolspec.Spec{
		spec("core__write_file", "Writes a file."), spec("core__read_file", "Reads a file."), spec("core__ls", "Lists files."),
		spec("z__same", "Frobnicates."), spec("a__same", "Frobnicates."), spec("m__same", "Frobnicates."), spec("core__time", "Tells the time."),
	})
	got := c.Pick(catalog.Query{Text: "Read some FILE"})
	if want := []string{"core__read_file", "core__write_file", "core__ls"}; !slices.Equal(ids(got), want) {
		t.Fatalf("picked %v, want %v", ids(got), want)
	}
	want := []catalog.Hit{
		{Word: "read", In: []catalog.Field{catalog.InName, catalog.InDescription}},
		{Word: "file", In: []catalog.Field{catalog.InName, catalog.InDescription}},
	}
	if !reflect.DeepEqual(got[0].Why, want) || got[0].Score <= got[1].Score || got[1].Score <= got[2].Score || got[2].Score <= 0 {
		t.Errorf("got %+v", got)
	}
	for range 20 {
		if got := ids(c.Pick(catalog.Query{Text: "frobnicate the same"})); !slices.Equal(got, []string{"a__same", "m__same", "z__same", "core__time"}) {
			t.Fatalf("equal tools in the order %v", got)
		}
	}
	if got := ids(c.Pick(catalog.Query{Text: "frobnicate", K: 2})); !slices.Equal(got, []string{"a__same", "m__same"}) {
		t.Errorf("the first two are %v", got)
	}
}

// TestPickFields: Pick searches each field, including nested arguments, and a word in the name
// counts most.
func TestPickFields(t *testing.T) {
	with := func(id string, change func(*toolspec.Spec)) toolspec.Spec {
		s := spec(id, "Does something.")
		change(&s)
		return s
	}
	c := shown([]toolspec.Spec{
		spec("core__zebra", "Does something."),
		with("core__title", func(s *toolspec.Spec) { s.Title = "Zebra" }),
		with("core__tags", func(s *toolspec.Spec) { s.Tags = []string{"zebra"} }),
		with("core__description", func(s *toolspec.Spec) { s.Description = "Does zebra." }),
		with("core__argument", func(s *toolspec.Spec) {
			s.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"items":{"properties":{"zebraCount":{}}}}}}`)
		}),
		with("core__told", func(s *toolspec.Spec) {
			s.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"items":{"description":"how many zebras"}}}}`)
		}),
		with("core__value", func(s *toolspec.Spec) {
			s.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"enum":["horse","zebra",7]}}}`)
		}),
		spec("core__none", "Does something."),
	})
	in := map[string]catalog.Field{}
	got := c.Pick(catalog.Query{Text: "zebra"})
	for _, m := range got {
		in[m.Name] = m.Why[0].In[0]
	}
	if want := map[string]catalog.Field{
		"core__zebra": catalog.InName, "core__title": catalog.InTitle, "core__tags": catalog.InTags, "core__description": catalog.InDescription,
		"core__argument": catalog.InArguments, "core__told": catalog.InArgumentDescriptions, "core__value": catalog.InArgumentValues,
	}; !reflect.DeepEqual(in, want) {
		t.Errorf("found in %v, want %v", in, want)
	}
	if got[0].Name != "core__zebra" || !slices.Contains([]string{"core__told", "core__value"}, got[len(got)-1].Name) {
		t.Errorf("in the order %v", ids(got))
	}
}

// TestPickQueries: unusual queries and their results.
func TestPickQueries(t *testing.T) {
	c := shown([]toolspec.Spec{
		spec("core__read_file", "Reads a file."), spec("core__write_file", "Writes a file."), spec("kb__search", "在知识库中搜索文档并返回摘要。"),
	})
	all := []string{"core__read_file", "core__write_file", "kb__search"}
	for text, want := range map[string][]string{
		"": all, " \n\t": all, // in the order of ids
		"???": {}, "xyzzy": {}, "\x00\xff": {},
		"xyzzy read":   {"core__read_file"},
		"READFILE":     {"core__read_file"},
		"readFile":     {"core__read_file", "core__write_file"},
		"write-files":  {"core__write_file", "core__read_file"},
		"搜索文档":         {"kb__search"},
		"档":            {"kb__search"},
		"知":            {"kb__search"},
		"kb__search":   {"kb__search"},
		"core__search": {"kb__search", "core__read_file", "core__write_file"},
	} {
		if got := ids(c.Pick(catalog.Query{Text: text})); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{
		strings.Repeat("lorem ipsum ", 1_000) + "read", strings.Repeat("x", 1<<20), strings.Repeat("文", 1<<20), "read" + strings.Repeat(" ", 1<<20) + "write",
	} {
		if got := c.Pick(catalog.Query{Text: text, K: 1 << 62}); len(got) > 3 {
			t.Errorf("%d tools", len(got))
		}
	}
	if got := ids(c.Pick(catalog.Query{Text: strings.Repeat("lorem ipsum ", 850) + "write", K: 1})); !slices.Equal(got, []string{"core__write_file"}) {
		t.Errorf("the last word of a message of 10 KiB finds %v", got)
	}
	if got := ids(c.Pick(catalog.Query{Text: strings.Repeat("lorem ipsum ", 2_000) + "write"})); len(got) != 0 {
		t.Errorf("a word past the bound finds %v", got)
	}
	var zero catalog.Catalog
	if got := zero.Pick(catalog.Query{Text: "read"}); got == nil || len(got) != 0 {
		t.Errorf("an empty catalog gives %v", got)
	}
	if got := shown(nil).Pick(catalog.Query{}); got == nil || len(got) != 0 {
		t.Errorf("a catalog of nothing gives %v", got)
	}
}

// TestRareWordsCount: if a query has too many words, the rarest ones count.
func TestRareWordsCount(t *testing.T) {
	var common []string
	for i := range 100 {
		common = append(common, fmt.Sprintf("word%d", i))
	}
	text := strings.Join(common, " ")
	c := shown([]toolspec.Spec{spec("a__one", text), spec("a__two", text), spec("a__three", text+" needle")})
	got := c.Pick(catalog.Query{Text: text + " needle"})
	if got[0].Name != "a__three" || len(got[0].Why) != 64 || got[0].Why[63].Word != "needle" {
		t.Errorf("got %v with %d words", ids(got), len(got[0].Why))
	}
}

// TestPickTakesK (PT-01): Pick returns ten of 200 tools.
func TestPickTakesK(t *testing.T) {
	var specs []toolspec.Spec
	for i := range 200 {
		specs = append(specs, spec(fmt.Sprintf("core__tool_%d", i), "A tool."))
	}
	c := shown(specs)
	for k, want := range map[int]int{10: 10, 0: catalog.DefaultPick, -1: catalog.DefaultPick, 1: 1, 199: 199, 5_000: 200} {
		for _, text := range []string{"a tool", ""} {
			if got := c.Pick(catalog.Query{Text: text, K: k}); len(got) != want {
				t.Errorf("%q: %d tools for k=%d, want %d", text, len(got), k, want)
			}
		}
	}
}

// TestFewerAreTheFirst: the result for a smaller k is the start of the result for a larger k.
func TestFewerAreTheFirst(t *testing.T) {
	tools := goldenTools(t)
	for i := range 300 { // many tools with equal scores
		tools = append(tools, spec(fmt.Sprintf("x__file_%03d", i), "Reads a file."))
	}
	c := shown(tools)
	for _, line := range append(goldenLines(t, "queries.txt"), "merge the pull request, then tell the sales channel and write the new file") {
		text, _, _ := strings.Cut(line, " => ")
		all := c.Pick(catalog.Query{Text: text, K: len(tools)})
		for _, k := range []int{1, 2, 7, 20, 100, 301} {
			if got, want := c.Pick(catalog.Query{Text: text, K: k}), all[:min(k, len(all))]; !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: the first %d are %v, of all %v", text, k, ids(got), ids(want))
			}
		}
	}
}

// TestPickFilters (PT-03, PT-04): filters remove tools and change no score.
func TestPickFilters(t *testing.T) {
	write := spec("core__write_file", "Writes a file.", "files", "write")
	write.Effect, write.Risk = toolspec.StateChange, toolspec.MediumRisk
	c := shown([]toolspec.Spec{
		spec("core__read_file", "Reads a file.", "files", "read"), write, spec("web__fetch_file", "Fetches a file.", "web", "read"), spec("core__time", "Tells the time."),
	})
	for name, tc := range map[string]struct {
		query catalog.Query
		want  []string
	}{
		"a tag":           {catalog.Query{Tags: []string{"files"}}, []string{"core__read_file", "core__write_file"}},
		"both tags":       {catalog.Query{Tags: []string{"files", "read"}}, []string{"core__read_file"}},
		"no such tag":     {catalog.Query{Tags: []string{"file"}}, []string{}},
		"an effect":       {catalog.Query{Effects: []toolspec.Effect{toolspec.StateChange}}, []string{"core__write_file"}},
		"either effect":   {catalog.Query{Effects: []toolspec.Effect{toolspec.StateChange, toolspec.ReadOnly}}, []string{"core__read_file", "core__time", "core__write_file", "web__fetch_file"}},
		"a risk":          {catalog.Query{Risks: []toolspec.Risk{toolspec.MediumRisk, toolspec.HighRisk}}, []string{"core__write_file"}},
		"tag and effect":  {catalog.Query{Tags: []string{"write"}, Effects: []toolspec.Effect{toolspec.ReadOnly}}, []string{}},
		"words and a tag": {catalog.Query{Text: "file", Tags: []string{"read"}}, []string{"core__read_file", "web__fetch_file"}},
	} {
		got := ids(c.Pick(tc.query))
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	for _, text := range []string{"a file that is read", "write the new file, then fetch the old file"} {
		whole := c.Pick(catalog.Query{Text: text})
		for _, m := range c.Pick(catalog.Query{Text: text, Tags: []string{"read"}}) {
			at := slices.IndexFunc(whole, func(other catalog.Match) bool { return other.Name == m.Name })
			if !reflect.DeepEqual(whole[at], m) {
				t.Errorf("a filter changed %+v to %+v", whole[at], m)
			}
		}
	}
}

// TestHiddenToolsLeaveNoTrace (PT-05): hidden tools do not change the picked tools or their scores,
// to the last digit, and no hidden tool is picked.
func TestHiddenToolsLeaveNoTrace(t *testing.T) {
	tools := goldenTools(t)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		hidden := map[string]bool{}
		var seen []toolspec.Spec
		for _, s := range tools {
			if r.IntN(3) > 0 {
				seen = append(seen, s)
			} else {
				hidden[s.Name] = true
			}
		}
		full := catalog.New(tools, func(s toolspec.Spec) catalog.Visibility {
			if hidden[s.Name] {
				return catalog.Hidden
			}
			return catalog.Visible
		})
		alone := shown(seen)
		for _, text := range []string{"file", "issue in a repository", "list the messages of a channel", "merge the pull request, then tell the sales channel", tools[r.IntN(len(tools))].Description} {
			got, want := full.Pick(catalog.Query{Text: text, K: 200}), alone.Pick(catalog.Query{Text: text, K: 200})
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d, %q: hidden tools change the answer", round, text)
			}
			for _, m := range got {
				if hidden[m.Name] {
					t.Fatalf("%s is hidden, and picked", m.Name)
				}
			}
		}
	}
}

// TestPickKeepsWhatPolicySaid: a picked tool says whether its calls need an approval.
func TestPickKeepsWhatPolicySaid(t *testing.T) {
	c := catalog.New([]toolspec.Spec{spec("core__a", "Asks."), spec("core__b", "Asks.")}, func(s toolspec.Spec) catalog.Visibility {
		return map[string]catalog.Visibility{"core__a": catalog.VisibleWithApproval, "core__b": catalog.VisibleDepending}[s.Name]
	})
	got := c.Pick(catalog.Query{Text: "asks"})
	if len(got) != 2 || !got[0].NeedsApproval || !got[1].DependsOnArguments {
		t.Errorf("got %+v", got)
	}
}

// TestIndexIsApartFromTheCatalog (PT-06): the index is not part of the JSON of a catalog, and a new
// catalog finds new tools.
func TestIndexIsApartFromTheCatalog(t *testing.T) {
	r := catalog.NewRegistry(provided(t))
	if err := r.Add("test", tool[in, out](definition())); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(shown(r.Specs()).List())
	if err != nil {
		t.Fatal(err)
	}
	old := shown(r.Specs())
	found := old.Pick(catalog.Query{Text: "reads"})
	after, err := json.Marshal(old.List())
	if err != nil || string(before) != string(after) {
		t.Errorf("listed as %s (%v), before %s", after, err, before)
	}
	if encoded, err := json.Marshal([]any{old}); err != nil || string(encoded) != "[{}]" {
		t.Errorf("a catalog is written as %s (%v)", encoded, err)
	}
	var keys map[string]json.RawMessage
	encoded, err := json.Marshal(found[0])
	if err != nil || json.Unmarshal(encoded, &keys) != nil || keys["score"] == nil || keys["why"] == nil || keys["name"] == nil {
		t.Errorf("a match is written as %s (%v)", encoded, err)
	}
	second := definition()
	second.ID, second.Description = "core__frobnicate", "Frobnicates."
	if err := r.Add("test", tool[in, out](second)); err != nil {
		t.Fatal(err)
	}
	if got := old.Pick(catalog.Query{Text: "frobnicate"}); len(got) != 0 {
		t.Errorf("the old catalog has %v", ids(got))
	}
	if got := shown(r.Specs()).Pick(catalog.Query{Text: "frobnicate"}); !slices.Equal(ids(got), []string{"core__frobnicate"}) {
		t.Errorf("the new catalog has %v", ids(got))
	}
	r.Remove("core__frobnicate")
	if got := shown(r.Specs()).Pick(catalog.Query{Text: "frobnicate"}); len(got) != 0 {
		t.Errorf("the tool is gone, and picked: %v", ids(got))
	}
}

// TestPickAtOnce: concurrent Picks on copies of a catalog share one index.
func TestPickAtOnce(t *testing.T) {
	c := shown(goldenTools(t))
	want := ids(shown(goldenTools(t)).Pick(catalog.Query{Text: "merge a pull request"}))
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			if got := ids(c.Pick(catalog.Query{Text: "merge a pull request"})); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	asking.Wait()
}
