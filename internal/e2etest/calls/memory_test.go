package calls

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestMemoryOutlivesTheWorker: a call of the same session on another worker reads the entries of an earlier call,
// and a call of another session or tenant does not (BT-12). The tool for dumps exists only in a worker that registers it (BT-14).
func TestMemoryOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	call := func(id, toolID, args, tenant, session string) toolspec.Result {
		inv := e2etest.Invocation(id, toolID, args)
		inv.Context.TenantID, inv.Context.SessionID, inv.Context.RunID = tenant, session, "run-"+id
		return w.Invoke(inv)
	}
	stop := w.Work()
	if r := call("write", "core__memory", `{"action":"create","path":"/notes/a","content":"tea, no sugar"}`, "acme", "s"); !r.OK {
		t.Fatalf("the write ended with %+v", r)
	}
	e2etest.WantCode(t, call("nodump", "core__write_memory_dump", `{"title":"x","content":"x"}`, "acme", "s"), toolspec.CodeUnavailable)
	stop()
	w.Work(worker.Tools(tools.WriteMemoryDump()))
	view := `{"action":"view","path":"/notes/a"}`
	if r := call("read", "core__memory", view, "acme", "s"); !r.OK || !strings.Contains(string(r.Value), `"content":"tea, no sugar"`) || !strings.Contains(string(r.Value), `"trust":"model"`) {
		t.Errorf("the read ended with %+v", r)
	}
	for id, of := range map[string][2]string{"session": {"acme", "other"}, "none": {"acme", ""}, "tenant": {"globex", "s"}} {
		r := call(id, "core__memory", view, of[0], of[1])
		if e2etest.WantCode(t, r, toolspec.CodeExecution); !strings.HasSuffix(r.SafeMessage, "there is no entry at this path") {
			t.Errorf("%s: %+v", id, r)
		}
		if r := call(id+"-search", "core__memory", `{"action":"search","query":"tea"}`, of[0], of[1]); !r.OK || string(r.Value) != `{"entries":[]}` {
			t.Errorf("%s: a search ended with %+v", id, r)
		}
	}
	if r := call("dump", "core__write_memory_dump", `{"title":"x","content":"x"}`, "acme", "s"); !r.OK || !strings.Contains(string(r.Value), `"path":"/dumps/2"`) {
		t.Errorf("the dump ended with %+v", r)
	}
}
