package postgres_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
	toolcatalog "github.com/pawl-run/pawl/toolspec/catalog"
)

func published(name, digest, description string) toolspec.Spec {
	return toolspec.Spec{
		Name: name, Digest: digest, Description: description, InputSchema: []byte(`{}`), OutputSchema: []byte(`{}`), Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
	}
}

// described returns "name digest description" of each spec.
func described(specs []toolspec.Spec) string {
	var all []string
	for _, s := range specs {
		all = append(all, strings.Join([]string{s.Name, s.Digest, s.Description}, " "))
	}
	return strings.Join(all, ", ")
}

// TestPublishAgain (RG-04): a publication also removes the tools and sources that the worker no longer has, in the same step.
func TestPublishAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	publish := func(worker string, state catalog.SourceState, specs ...toolspec.Spec) {
		t.Helper()
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: worker, Namespace: "ns", Sources: []catalog.SourceState{state}}, specs); err != nil {
			t.Fatal(err)
		}
	}
	want := func(specs, conflicts string) {
		t.Helper()
		if got, err := b.LiveSpecs(t.Context()); err != nil || described(got) != specs {
			t.Errorf("live are %q, %v, want %q", described(got), err, specs)
		}
		if got, err := b.ToolConflicts(t.Context(), "ns"); err != nil || strings.Join(got, " ") != conflicts {
			t.Errorf("conflicts are %q, %v, want %q", got, err, conflicts)
		}
	}
	words := catalog.SourceState{Kind: "extension", Name: "words", Tools: 2}
	publish("w1", words, published("w__a", "1", ""), published("w__b", "1", ""))
	publish("w2", words, published("w__b", "1", ""))
	// Both workers have w__b, and then they differ: the worker that started last decides.
	want("w__a 1 , w__b 1 ", "")
	publish("w1", words, published("w__b", "2", ""))
	want("w__b 1 ", "w__b")
	publish("w2", words)
	want("w__b 2 ", "")
	faulty := catalog.SourceState{
		Kind: "mcp", Name: "git", Fault: "it is away", Since: "2026-01-02T03:04:05Z", LeftOut: []catalog.LeftOut{{ToolID: "g__a", Why: "taken"}}, LeftOutCount: 1,
	}
	publish("w1", faulty, published("w__b", "3", ""))
	want("w__b 3 ", "")
	// A worker of an older release has no sources, and is not listed.
	b.sql(`INSERT INTO workers (worker_id, namespace) VALUES ('older', 'ns')`)
	b.UseNamespace("ns")
	states, err := b.WorkerSources(t.Context())
	if err != nil || len(states) != 2 || !reflect.DeepEqual(states[0], catalog.WorkerSources{WorkerID: "w1", Sources: []catalog.SourceState{faulty}}) {
		t.Errorf("the sources are %+v, %v", states, err)
	}
	b.sql(`UPDATE workers SET seen_at = now() - interval '46 seconds' WHERE worker_id = 'w1'`)
	publish("w2", words, published("w__b", "4", ""))
	want("w__b 4 ", "")
	if states, err := b.WorkerSources(t.Context()); err != nil || len(states) != 1 || states[0].WorkerID != "w2" {
		t.Errorf("the sources are %+v, %v", states, err)
	}
}

func TestSpecs(t *testing.T) {
	b := open(t)
	for worker, specs := range map[string][]toolspec.Spec{
		"w0": nil,
		"w1": {published("core__b", "1", "old"), published("core__a", "1", "same digest, other tool")},
	} {
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: worker, Namespace: "ns"}, specs); err != nil {
			t.Fatal(err)
		}
	}
	for _, description := range []string{"new", "new words"} {
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: "w2", Namespace: "ns"}, []toolspec.Spec{published("core__b", "2", description)}); err != nil {
			t.Fatal(err)
		}
	}
	want := "core__a 1 same digest, other tool, core__b 2 new words"
	for name, read := range map[string]func(context.Context) ([]toolspec.Spec, error){"all": b.Specs, "live": b.LiveSpecs} {
		if got, err := read(t.Context()); err != nil || described(got) != want {
			t.Errorf("%s: %s, %v", name, described(got), err)
		}
	}
	together(8, func(int) {
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: "w3", Namespace: "ns"}, []toolspec.Spec{published("core__b", "2", "x"), published("core__a", "1", "y")}); err != nil {
			t.Error(err)
		}
	})
	if n := value[int](b, `SELECT count(*) FROM tool_specs`); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// TestDiscoveredSpec: a definition that a server gave is found by its digest, also after its worker has stopped.
func TestDiscoveredSpec(t *testing.T) {
	b := open(t)
	for i, digest := range []string{"x", "y"} {
		spec := published("mcp__a__b", digest+"-tool", digest)
		spec.Discovered = &toolspec.Discovered{Digest: digest, Name: "b"}
		other := published("mcp__a__c", digest+"-tool", "other")
		other.Discovered = spec.Discovered
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: "w", Namespace: "ns"}, []toolspec.Spec{spec, other, published("core__a", string(rune('0'+i)), "plain")}); err != nil {
			t.Fatal(err)
		}
	}
	for digest, want := range map[string]string{"x": "mcp__a__b x-tool x", "y": "mcp__a__b y-tool y", "z": ""} {
		spec, found, err := b.DiscoveredSpec(t.Context(), "mcp__a__b", digest)
		if err != nil || found != (want != "") || found && described([]toolspec.Spec{spec}) != want {
			t.Errorf("%s: %+v, %v, %v", digest, spec, found, err)
		}
	}
}

// TestLiveSpecs follows two workers that stop renewing, one after the other, and one that comes back. A catalog has the tools of live workers
// only.
func TestLiveSpecs(t *testing.T) {
	b := open(t)
	if _, err := b.ApplyPolicy(t.Context(), otherPolicy(t, "acme"), "test"); err != nil {
		t.Fatal(err)
	}
	publish := func(worker string, specs ...toolspec.Spec) {
		t.Helper()
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: worker, Namespace: "ns"}, specs); err != nil {
			t.Fatal(err)
		}
	}
	quiet := func(worker, since string) {
		b.sql(`UPDATE workers SET seen_at = now() - $2::interval WHERE worker_id = $1`, worker, since)
	}
	want := func(specs string) {
		t.Helper()
		got, err := b.LiveSpecs(t.Context())
		if err != nil || described(got) != specs {
			t.Errorf("live are %q, %v, want %q", described(got), err, specs)
		}
		var names []string
		seen, err := b.Catalog(t.Context(), toolcatalog.Viewer{TenantID: "acme", ActorID: "agent:one"})
		for _, e := range seen.List() {
			names = append(names, e.Name)
		}
		var live []string
		for _, s := range got {
			live = append(live, s.Name)
		}
		if err != nil || !slices.Equal(names, live) {
			t.Errorf("the catalog has %v, %v, want %v", names, err, live)
		}
		if other, err := b.IsLive(t.Context(), "another", "core__old"); err != nil || other {
			t.Errorf("core__old is live in another namespace: %t, %v", other, err)
		}
		isLive, err := b.IsLive(t.Context(), "ns", "core__old")
		if err != nil || isLive != strings.Contains(specs, "core__old") {
			t.Errorf("core__old is live: %t, %v", isLive, err)
		}
	}
	want("")
	publish("w1", published("core__old", "1", ""), published("core__both", "1", ""))
	publish("w2", published("core__both", "2", ""))
	want("core__both 2 , core__old 1 ")
	quiet("w1", "119 seconds")
	want("core__both 2 , core__old 1 ")
	quiet("w1", "121 seconds")
	want("core__both 2 ")
	quiet("w2", "3 minutes")
	want("")
	if found, err := b.RenewWorker(t.Context(), "w1"); err != nil || !found {
		t.Errorf("renewing w1: %t, %v", found, err)
	}
	want("core__both 1 , core__old 1 ")
	if found, err := b.RenewWorker(t.Context(), "unknown"); err != nil || found {
		t.Errorf("renewing an unknown worker: %t, %v", found, err)
	}
	if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: "w4", Namespace: "other"}, []toolspec.Spec{published("core__both", "3", "")}); err != nil {
		t.Fatal(err)
	}
	want("core__both 3 , core__old 1 ")
	b.UseNamespace("ns")
	want("core__both 1 , core__old 1 ")
	b.sql(`DELETE FROM workers WHERE worker_id = 'w4'`)
	quiet("w2", "16 minutes")
	publish("w3")
	if n := value[int](b, `SELECT count(*) FROM workers`); n != 2 {
		t.Errorf("%d workers are kept", n)
	}
	if found, err := b.RenewWorker(t.Context(), "w2"); err != nil || found {
		t.Errorf("renewing a deleted worker: %t, %v", found, err)
	}
}

// TestOldSpecs: a definition that no worker has is deleted when it is old. Of definitions that servers gave, the newest are kept, so that a
// server that renames its tools for ever does not fill the table.
func TestOldSpecs(t *testing.T) {
	t.Parallel()
	b := open(t)
	publish := func(worker string, specs ...toolspec.Spec) {
		t.Helper()
		if err := b.PublishSpecs(t.Context(), catalog.Worker{ID: worker, Namespace: "ns"}, specs); err != nil {
			t.Fatal(err)
		}
	}
	publish("w1", published("t__live", "1", ""), published("t__gone", "1", ""))
	publish("w2", published("t__dead", "1", ""))
	b.sql(`UPDATE tool_specs SET seen_at = now() - interval '1 year', published_at = now() - interval '1 year'`)
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec, seen_at) SELECT 'mcp__s__' || n, 'd', '{"discovered":{}}', now() - n * interval '1 second' FROM generate_series(1, 5003) n`)
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec, seen_at) SELECT 't__' || n, 'd', '{}', now() FROM generate_series(1, 5003) n`)
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec, seen_at) VALUES ('t__old', 'd', '{}', now() - interval '91 days')`)
	b.sql(`UPDATE workers SET seen_at = now() - interval '1 day' WHERE worker_id = 'w2'`)
	publish("w1", published("t__live", "1", "")) // t__gone and t__dead are no longer in use from now on
	if n, err := b.DeleteOldSpecs(t.Context()); err != nil || n != 4 {
		t.Errorf("deleted %d, %v, want 4", n, err)
	}
	if n := value[int](b, `SELECT count(*) FROM tool_specs WHERE tool_id IN ('t__live', 't__gone', 't__dead', 'mcp__s__5000')`); n != 4 {
		t.Errorf("%d of 4 definitions are left", n)
	}
	// All definitions beyond the limit are deleted in one step. A tenant that registers very often pushes out only its own definitions.
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec, seen_at) SELECT 'mcp__s__' || n, 'e', '{"discovered":{}}', now() - n * interval '1 second' FROM generate_series(1, 11000) n`)
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec, seen_at) SELECT 'tenant-acme__' || n, 'd', '{}', now() - n * interval '1 second' FROM generate_series(1, 3000) n`)
	b.sql(`INSERT INTO tool_specs (tool_id, digest, spec) VALUES ('tenant-globex__a', 'd', '{}'), ('mcp__tenant-globex_docs__a', 'd', '{"discovered":{}}')`)
	if n, err := b.DeleteOldSpecs(t.Context()); err != nil || n != 12000 {
		t.Errorf("deleted %d, %v, want 12000", n, err)
	}
	if n := value[int](b, `SELECT count(*) FROM tool_specs WHERE starts_with(tool_id, 'tenant-') OR starts_with(tool_id, 'mcp__tenant-')`); n != 2002 {
		t.Errorf("%d definitions of tenants are left", n)
	}
	// A publication that changes nothing writes no definition.
	before := value[string](b, `SELECT xmin::text FROM tool_specs WHERE tool_id = 't__live'`)
	publish("w1", published("t__live", "1", ""))
	if after := value[string](b, `SELECT xmin::text FROM tool_specs WHERE tool_id = 't__live'`); after != before {
		t.Error("an unchanged definition was written")
	}
	publish("w3", published("t__live", "2", ""))
	publish("w4", published("t__live", "1", "")) // a worker of a deployment that was rolled back
	specs, err := b.Specs(t.Context())
	if err != nil || !strings.Contains(described(specs), "t__live 1 ") {
		t.Errorf("known is %v, %v", len(specs), err)
	}
}
