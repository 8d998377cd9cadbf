package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const outputRules = `
version: 1
tenants:
  acme: {allowedTools: ["test__*", core__tool_output_cache, core__tool_output_cache_grep], mode: auto}
  globex: {allowedTools: [core__tool_output_cache, core__tool_output_cache_grep], mode: auto}
`

// TestStoredOutputIsRead: a model reads the rest of a large result of its run, by lines and by search. It cannot read an output of another
// run or tenant, or an output that has expired.
func TestStoredOutputIsRead(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, outputRules)
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	w.Work(worker.Tools(e2etest.Tool("test__big", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: lines.String()}, nil
	})))
	big := w.Invoke(e2etest.Invocation("big", "test__big", `{}`))
	small := w.Invoke(e2etest.Invocation("small", "test__big", `{}`))
	if !big.OK || big.OutputRef == "" || small.OutputRef == big.OutputRef {
		t.Fatalf("%+v", big)
	}
	n := 0
	ask := func(tool, args string, change ...func(*toolspec.Invocation)) toolspec.Result {
		n++
		inv := e2etest.Invocation(fmt.Sprintf("read-%d", n), tool, args)
		for _, c := range change {
			c(&inv)
		}
		return w.Invoke(inv)
	}
	type page struct {
		Text       string `json:"text"`
		NextOffset int64  `json:"nextOffset"`
		Matches    int    `json:"matches"`
	}
	value := func(r toolspec.Result) (p page) {
		t.Helper()
		if err := json.Unmarshal(r.Value, &p); err != nil || !r.OK {
			t.Fatalf("%+v, %v", r, err)
		}
		return p
	}
	args := func(rest string) string { return fmt.Sprintf(`{"ref_id":%q,"pointer":"/text"%s}`, big.OutputRef, rest) }
	if p := value(ask("core__tool_output_cache", args(`,"offset":19999`))); p.Text != " 19999\tline 19999\n 20000\tline 20000\n" || p.NextOffset != 0 {
		t.Errorf("the last lines are %+v", p)
	}
	first := value(ask("core__tool_output_cache", args("")))
	if next := value(ask("core__tool_output_cache", args(fmt.Sprintf(`,"offset":%d,"limit":1`, first.NextOffset)))); next.Text != fmt.Sprintf("%6d\tline %d\n", first.NextOffset, first.NextOffset) {
		t.Errorf("the page after line %d is %+v", first.NextOffset, next)
	}
	if p := value(ask("core__tool_output_cache_grep", args(`,"pattern":"line 1234.$","regex":true,"max_matches":3`))); p.Text != "12340:line 12340\n12341:line 12341\n12342:line 12342\n" || p.NextOffset != 12343 {
		t.Errorf("found are %+v", p)
	}
	// A value that is small enough to be in the result can be read by a reference too.
	ref := toolspec.ResultRef(e2etest.Invocation("read-1", "", "").Identity().InvocationID())
	if p := value(ask("core__tool_output_cache", fmt.Sprintf(`{"ref_id":%q,"pointer":"/text"}`, ref))); p.Text != "     1\t 19999\tline 19999\n     2\t 20000\tline 20000\n" {
		t.Errorf("the result of a call is %+v", p)
	}
	const unknown = "there is no such output in this run"
	for what, r := range map[string]toolspec.Result{
		"an unknown output": ask("core__tool_output_cache", `{"ref_id":"none"}`),
		"another run":       ask("core__tool_output_cache", args(""), func(i *toolspec.Invocation) { i.Context.RunID = "other" }),
		"another run, grep": ask("core__tool_output_cache_grep", args(`,"pattern":"line"`), func(i *toolspec.Invocation) { i.Context.RunID = "other" }),
		"another tenant":    ask("core__tool_output_cache", args(""), func(i *toolspec.Invocation) { i.Context.TenantID = "globex" }),
	} {
		if r.ErrorCode != toolspec.CodeExecution || !strings.Contains(r.SafeMessage, unknown) || len(r.Value) > 0 {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if r := ask("core__tool_output_cache_grep", args(`,"pattern":"(","regex":true`)); !strings.Contains(r.SafeMessage, "not a valid RE2") {
		t.Errorf("a bad pattern: %+v", r)
	}
	readByClient(t, w, big.OutputRef)
	e2etest.Query[string](w, `UPDATE outputs SET expires_at = now() - interval '1 second' WHERE ref = $1 RETURNING ref`, big.OutputRef)
	if r := ask("core__tool_output_cache", args("")); !strings.Contains(r.SafeMessage, "has expired") {
		t.Errorf("an expired output: %+v", r)
	}
	if err := w.Store.DeleteOutput(t.Context(), "acme", small.OutputRef, e2etest.Ann); err != nil {
		t.Fatal(err)
	}
	if r := ask("core__tool_output_cache", fmt.Sprintf(`{"ref_id":%q}`, small.OutputRef)); !strings.Contains(r.SafeMessage, "has expired") || len(r.Value) > 0 {
		t.Errorf("a deleted output: %+v", r)
	}
}

// readByClient reads an output with package client, as the program of a user does.
func readByClient(t *testing.T, w *e2etest.World, ref string) {
	t.Helper()
	agent := pawl.New(w.Temporal, postgres.Of(w.Store).Options())
	info, err := agent.OutputInfo(t.Context(), "acme", ref)
	if err != nil || !info.Complete || info.RunID != "run" {
		t.Fatalf("%+v, %v", info, err)
	}
	in, err := agent.OpenOutput(t.Context(), "acme", ref, 1)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(in)
	if whole, wholeErr := agent.Output(t.Context(), "acme", ref); err != nil || wholeErr != nil || string(whole[1:]) != string(rest) || int64(len(whole)) != info.Bytes {
		t.Errorf("%d bytes of %d, %v", len(rest), info.Bytes, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := agent.OpenOutput(t.Context(), "globex", ref, 0); !strings.Contains(fmt.Sprint(err), pawl.ErrNotFound.Error()) {
		t.Errorf("another tenant: %v", err)
	}
}
