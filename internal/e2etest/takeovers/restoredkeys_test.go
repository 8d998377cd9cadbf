package takeovers

import (
	"encoding/base64"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/codec"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestPostgresRestoredWithoutKeys: without the keys of payloads, the command cannot see what a call in the claimed lane has done. It says so, also of a call that has
// ended and of a call whose input it can read, and changes nothing.
func TestPostgresRestoredWithoutKeys(t *testing.T) {
	t.Parallel()
	r := restoring{e2etest.NewWorld(t, e2etest.PlainPolicy), t.TempDir()}
	keys := "k " + base64.StdEncoding.EncodeToString([]byte("the 32 bytes of a key of a test!")) + "\n"
	ring, err := codec.ParseRing([]byte(keys))
	if err != nil {
		t.Fatal(err)
	}
	r.Keys, r.Codec = keys, codec.New(ring, codec.Options{})
	first := r.ServeInChild()
	ended := r.start("ended", "test__quick", "")
	r.settled(ended, "", 1)
	r.Closed(ended)
	going := r.start("going", barredTool, "") // its attempts report that they had no effect
	waiting := r.start("waiting", "test__asked", "")
	for _, inv := range []toolspec.Invocation{going, waiting} {
		r.Until(func() bool {
			return e2etest.CountEvents(r.History(inv.Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_MARKER_RECORDED) > 0
		}, inv.ToolCallID+" has a step in its history")
	}
	e2etest.Kill(first)
	calls := func() int { return e2etest.Scalar[int](r.World, `SELECT count(*)::int FROM invocations`) }
	// The database is as it was before these two calls.
	e2etest.Query[int](r.World, `DELETE FROM events WHERE invocation_id IN (SELECT invocation_id FROM invocations WHERE tool_call_id IN ('ended', 'going'))`)
	e2etest.Query[int](r.World, `DELETE FROM invocations WHERE tool_call_id IN ('ended', 'going')`)

	r.Keys = ""
	unread := reconcile(r.World, 1, "--older", "postgres", "--mend")
	for _, inv := range []toolspec.Invocation{ended, going, waiting} {
		if got := unread.byCall[inv.ToolCallID]; got != "not_read" {
			t.Errorf("without keys %s is %q, want not_read", inv.ToolCallID, got)
		}
	}
	if len(unread.Findings) != 3 || calls() != 1 {
		t.Errorf("without keys: %+v, and the record has %d calls, want 1", unread.Findings, calls())
	}
	r.Keys = keys
	mended := reconcile(r.World, 0, "--older", "postgres", "--mend")
	for id, want := range map[string]string{"ended": "call_lost", "going": "call_lost", "waiting": ""} {
		if got := mended.byCall[id]; got != want {
			t.Errorf("with keys %s is %q, want %q", id, got, want)
		}
	}
	r.settled(ended, toolspec.CodeOutcomeUnknown, 1)
}
