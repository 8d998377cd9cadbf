package outputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/worker"
)

// read returns the bytes of an output of the tenant acme from a position.
func read(w *e2etest.World, ref string, from output.Position) (all []byte) {
	w.T.Helper()
	for c, err := range w.Store.Chunks(w.T.Context(), "acme", ref, from) {
		if err != nil {
			w.T.Fatal(err)
		}
		all = append(all, c.Data...)
	}
	return all
}

// counts returns the number of chunks and of outputs in the database, and the bytes that the quota counts.
func counts(w *e2etest.World) (got [3]int) {
	w.T.Helper()
	got[0] = e2etest.Scalar[int](w, `SELECT count(*) FROM output_chunks`)
	got[1] = e2etest.Scalar[int](w, `SELECT count(*) FROM outputs WHERE state <> 'expired'`)
	got[2] = e2etest.Scalar[int](w, `SELECT coalesce(sum(stored), 0)::bigint FROM output_usage`)
	return got
}

func reclaim(w *e2etest.World) {
	w.T.Helper()
	for {
		n, err := w.Store.DeleteExpiredOutputs(w.T.Context(), 100)
		if err != nil {
			w.T.Fatal(err)
		}
		objects, err := w.Store.DeleteOutputObjects(w.T.Context())
		if err != nil {
			w.T.Fatal(err)
		}
		if n+objects == 0 {
			return
		}
	}
}

// TestATextStream: a stream of 4 MiB is stored masked and complete, in many chunks, with its digest and the number of its lines, and the call still has its
// value. Only the tenant can read the stream. Both the masks of the tool and those of policy apply.
func TestATextStream(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.Replace(e2etest.PlainPolicy, "    mode: auto\n", `    mode: auto
    mask: [{tool: "test__*", stream: true, with: "regex:lazy +d[aeiou]g"}]
`, 1))
	w.Work(worker.Tools(streams()...))
	inv := e2etest.Invocation("call", "test__stream", `{}`)
	r := w.Invoke(inv)
	e2etest.WantText(t, r, "written")
	if r.OutputRef == "" {
		t.Fatalf("%+v has no reference", r)
	}
	data := read(w, r.OutputRef, output.Position{})
	if bytes.Contains(data, []byte("ann.lee")) || bytes.Contains(data, []byte("example.org")) || bytes.Contains(data, []byte("lazy")) || bytes.Count(data, []byte(toolspec.Mask)) != 2*streamLines {
		t.Errorf("%d of %d texts are masked", bytes.Count(data, []byte(toolspec.Mask)), 2*streamLines)
	}
	info, err := w.Store.Info(t.Context(), "acme", r.OutputRef)
	sum := sha256.Sum256(data)
	if err != nil || !info.Complete || info.SHA256 != hex.EncodeToString(sum[:]) || info.Bytes != int64(len(data)) || info.Lines != streamLines || info.ToolID != "test__stream" {
		t.Errorf("%+v of %d bytes, %v", info, len(data), err)
	}
	tail := read(w, r.OutputRef, output.Position{Line: streamLines - 1})
	if want := strings.NewReplacer(email, toolspec.Mask, "lazy dog", toolspec.Mask).Replace(line(streamLines - 1)); !bytes.HasSuffix(tail, []byte(want)) {
		t.Errorf("the last line is %q", tail[max(0, len(tail)-200):])
	}
	if _, err := w.Store.Info(t.Context(), "globex", r.OutputRef); !errors.Is(err, output.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	for _, e := range w.History(inv.Identity().WorkflowID(), "").GetEvents() {
		if strings.Contains(e.String(), "quick brown") {
			t.Errorf("%s holds a part of the stream", e.GetEventType())
		}
	}
}

func TestABinaryStream(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(streams()...))
	r := w.Invoke(e2etest.Invocation("call", "test__binary", `{}`))
	e2etest.WantText(t, r, "drawn")
	if got := read(w, r.OutputRef, output.Position{}); !bytes.Equal(got, noise()) {
		t.Errorf("%d bytes are not the %d that the tool wrote", len(got), len(noise()))
	}
	if info, err := w.Store.Info(t.Context(), "acme", r.OutputRef); err != nil || info.MediaType != "image/png" || info.Lines != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	r = w.Invoke(e2etest.Invocation("silent", "test__silent", `{}`))
	if e2etest.WantText(t, r, "shown"); r.OutputRef != "" {
		t.Errorf("a tool that wrote nothing has the output %s", r.OutputRef)
	}
}

// TestAFailedAttemptLeavesNoStream: a failed attempt leaves no output, no chunk and no used byte of the quota.
func TestAFailedAttemptLeavesNoStream(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(streams()...))
	r := w.Invoke(e2etest.Invocation("call", "test__fails", `{}`))
	e2etest.WantCode(t, r, toolspec.CodeExecution)
	if got := counts(w); r.OutputRef != "" || got != [3]int{} {
		t.Errorf("output %q; chunks, outputs and bytes that are left: %v", r.OutputRef, got)
	}
}

// TestAStreamBeyondTheQuota: a call whose stream exceeds the quota ends with an error that says what to do, even if its tool ignores the error, and leaves
// nothing stored.
func TestAStreamBeyondTheQuota(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	config := w.Config()
	config.OutputQuota = 1000
	w.WorkWith(config, worker.Tools(streams()...))
	for _, toolID := range []string{"test__stream", "test__careless"} {
		r := w.Invoke(e2etest.Invocation(toolID, toolID, `{}`))
		e2etest.WantCode(t, r, toolspec.CodeOutputQuota)
		if got := counts(w); r.OutputRef != "" || got != [3]int{} || !strings.Contains(r.SafeMessage, "PAWL_OUTPUT_QUOTA") {
			t.Errorf("%+v; chunks, outputs and bytes that are left: %v", r, got)
		}
	}
}

// TestWorkerKilledInAStream: no result refers to the output of the killed worker, and upkeep gives its storage back.
func TestWorkerKilledInAStream(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	first := w.ServeInChild()
	file := filepath.Join(t.TempDir(), "effects")
	call := w.Start(e2etest.Invocation("call", "test__killed", e2etest.AsJSON(e2etest.In{Text: file})))
	w.Until(func() bool { return len(w.Effects(file)) >= 1 }, "the first worker writes")
	e2etest.Kill(first)
	half := e2etest.Scalar[string](w, `SELECT ref FROM outputs WHERE state = 'writing' AND stored > 0`)
	w.ServeInChild()
	r := w.Result(call)
	e2etest.WantText(t, r, "written")
	if r.OutputRef == half || r.Attempts != 2 {
		t.Errorf("%+v has the output %s of the killed worker", r, half)
	}
	if info, err := w.Store.Info(t.Context(), "acme", half); !errors.Is(err, output.ErrExpired) {
		t.Errorf("what the killed worker stored is %+v, %v", info, err)
	}
	reclaim(w)
	data := read(w, r.OutputRef, output.Position{})
	if bytes.Count(data, []byte{'\n'}) != killedLines {
		t.Errorf("the output has %d lines", bytes.Count(data, []byte{'\n'}))
	}
	stored := e2etest.Scalar[int](w, `SELECT sum(octet_length(data) + 1024)::bigint FROM output_chunks`)
	if got := counts(w); got[1] != 1 || got[2] != stored {
		t.Errorf("chunks, outputs and bytes that are left: %v, of which %d are stored", got, stored)
	}
	w.Replay(e2etest.Invocation("call", "test__killed", "").Identity().WorkflowID())
}
