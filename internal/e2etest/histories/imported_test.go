package histories

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// importingTemporal starts a server that can import runs. That needs global namespaces, for which the program that starts dev servers has no option. A server
// stores the description of its cluster, and the stored description overrides its configuration. Field 9 of that message is the option. While the
// server is stopped, the test changes its database file: it writes field 9 in the place of field 11, which is of use only in clusters of several hosts.
func importingTemporal(t *testing.T) *devstack.Temporal {
	t.Helper()
	options := devstack.TemporalOptions{Dir: t.TempDir(), Persist: true}
	s, err := devstack.StartTemporal(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// In the message, field 10 ("enabled") is followed by field 11 ("members by id"). Each is a tag and the value 1.
	local, global := []byte{10 << 3, 1, 11 << 3, 1}, []byte{10 << 3, 1, 9 << 3, 1}
	found := 0
	if err := filepath.WalkDir(options.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "temporal.db" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found += bytes.Count(content, local)
		return os.WriteFile(path, bytes.ReplaceAll(content, local, global), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	if found != 1 {
		t.Fatalf("the switch for global namespaces was found %d times in the server's store, want once: another version of the server?", found)
	}
	return devstacktest.OwnTemporal(t, options)
}

// moved returns a copy of a history with other times, so that its last event was this long ago. A run that continues another run has the time at which the call
// began in its input, and moved changes this time too.
func moved(h *historypb.History, ago time.Duration) *historypb.History {
	h = proto.CloneOf(h)
	last := h.GetEvents()[len(h.GetEvents())-1].GetEventTime().AsTime()
	by := time.Since(last) - ago
	for _, e := range h.GetEvents() {
		e.EventTime = timestamppb.New(e.GetEventTime().AsTime().Add(by))
	}
	if input := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads(); len(input) == 2 {
		var from contract.Moved
		if err := converter.GetDefaultDataConverter().FromPayload(input[1], &from); err != nil {
			panic(err)
		}
		from.StartedAtMs += by.Milliseconds()
		payload, err := converter.GetDefaultDataConverter().ToPayload(from)
		if err != nil {
			panic(err)
		}
		input[1] = payload
	}
	return h
}

// takeIn creates the record and the workflow run of a recorded call in this world.
func takeIn(w *e2etest.World, r historytest.Recorded, ago time.Duration) toolspec.Invocation {
	w.T.Helper()
	h := moved(r.History, ago)
	inv := plant(w, h)
	importHistory(w, historytest.WorkflowID(h), h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(), h)
	return inv
}

// waitingCalls returns the recorded calls that were waiting, by version and case.
func waitingCalls(t *testing.T) map[string]map[string]historytest.Recorded {
	t.Helper()
	all, err := historytest.Load(historyDir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]historytest.Recorded{}
	for _, r := range all {
		if !slices.ContainsFunc(historytest.Cases(), func(c historytest.Case) bool { return c.Waits && c.Name == r.Case }) {
			continue
		}
		if found[r.Version] == nil {
			found[r.Version] = map[string]historytest.Recorded{}
		}
		found[r.Version][r.Case] = r
	}
	for _, c := range historytest.Cases() {
		if c.Waits && !slices.ContainsFunc(all, func(r historytest.Recorded) bool { return r.Case == c.Name }) {
			t.Errorf("no version has recorded %s", c.Name)
		}
	}
	if len(found["v0.1"]) < 12 {
		t.Errorf("v0.1 has %d calls and runs that wait", len(found["v0.1"]))
	}
	return found
}

// TestRecordedCallsGoOn (DU-10): waiting calls and waiting runs of agents of every kind and of every version are imported into a real server with a real worker
// of the present code. Each goes on at the point at which it was recorded and ends as expected, with one effect.
func TestRecordedCallsGoOn(t *testing.T) {
	t.Parallel()
	server := importingTemporal(t)
	for version, calls := range waitingCalls(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			// waiting_probe was admitted under ParkingPolicy, whose masks its value needs.
			w := e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.ParkingPolicy)
			w.Apply(e2etest.PlainPolicy)
			plantWorkerKey(w)
			var effects e2etest.Ledger
			w.Work(worker.Tools(waitingTools(func(string) e2etest.Run { return effects.Counted(e2etest.Echo) })...),
				worker.ToolHooks(allTool, onAll("all", normalise)), worker.ToolHooks("test__closed", later(longRetry)), gateHook)
			workInPool(w, pooledTool(effects.Counted(e2etest.Echo)))
			type ending struct {
				ago     time.Duration
				verb    toolspec.Verb
				decide  string // the approver
				text    string // "" if the call ends without a value
				effects int
				code    toolspec.Code // "" = ok
			}
			endings := map[string]ending{
				"waiting_approval":   {verb: toolspec.Approve, decide: e2etest.Ann, text: "hello", effects: 1},
				"waiting_edited":     {verb: toolspec.Approve, decide: e2etest.Ben, text: "edited", effects: 1},
				"waiting_all_stages": {verb: toolspec.Approve, decide: e2etest.Ann, text: "normal", effects: 1},
				"waiting_until":      {ago: longRetry - time.Second, text: "hello", effects: 1},
				"waiting_retry":      {ago: longRetry - time.Second, text: "hello", effects: 1},
				"waiting_worker":     {text: "hello", effects: 1},
				"waiting_execute":    {text: "hello", effects: 1},
				"waiting_capacity":   {text: "hello", effects: 1},
				"waiting_quota":      {ago: longRetry - time.Second, text: "hello", effects: 1},
				"waiting_read":       {text: "hello", effects: 1}, // the call that it waited for is not in this record
				"waiting_hook":       {text: "hello", effects: 1},
				"waiting_database":   {text: "hello", effects: 1},
				"waiting_probe":      {ago: 8 * time.Second, text: "hello", effects: 1},
				"waiting_claimed":    {ago: 6 * time.Second, text: "hello", effects: 1},
				"waiting_pool":       {verb: toolspec.Approve, decide: e2etest.Ann, text: "hello", effects: 1}, // the approval is asked for in the pool
				"waiting_in_pool":    {verb: toolspec.Approve, decide: e2etest.Ann, text: "hello", effects: 1},
				"waiting_parked":     {verb: toolspec.SettleOK, decide: e2etest.Ann}, // the effect happened before the recording
			}
			if version == "v0.1" {
				// The worker key that signed the permit of this call is not known, so the probe is not called again and a person decides.
				endings["waiting_probe"] = ending{ago: 8 * time.Second, verb: toolspec.SettleOK, decide: e2etest.Ann}
			}
			for shape, r := range calls {
				if strings.HasPrefix(shape, "agent_") {
					t.Run(shape, func(t *testing.T) {
						t.Parallel()
						runGoesOn(t, server.Address(), r)
					})
					continue
				}
				end, ok := endings[shape]
				if !ok {
					t.Errorf("how does %s end?", shape)
				}
				t.Run(shape, func(t *testing.T) {
					t.Parallel()
					w := *w
					w.T = t
					inv := takeIn(&w, r, end.ago)
					id := inv.Identity().WorkflowID()
					if end.decide != "" {
						view := w.Waiting(id)
						d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: end.verb, Approver: end.decide}
						if err := w.Temporal.SignalWorkflow(t.Context(), id, "", toolspec.DecideName, d); err != nil {
							t.Fatal(err)
						}
					}
					result := w.ResultOf(id, "")
					if result.ErrorCode != end.code {
						t.Errorf("the call ended %+v", result)
					} else if end.text != "" {
						e2etest.WantText(t, result, end.text)
					}
					if n := effects.Of(inv.ToolCallID); n != end.effects {
						t.Errorf("the tool ran %d times", n)
					}
					if record := w.Record(inv); record.Outcome != cmp.Or(string(end.code), "ok") {
						t.Errorf("the record ended %q", record.Outcome)
					}
					wentOn(&w, id, r)
				})
			}
		})
	}
}

// wentOn checks that no workflow task of the recorded run has failed, and that its history begins with the recorded events.
func wentOn(w *e2etest.World, workflowID string, r historytest.Recorded) {
	w.T.Helper()
	runID := r.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	for i, e := range w.History(workflowID, runID).GetEvents() {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && !e2etest.OfTheMachine(a) {
			w.T.Errorf("event %d: %s", i+1, e)
		}
		if i < len(r.History.GetEvents()) && e.GetEventType() != r.History.GetEvents()[i].GetEventType() {
			w.T.Fatalf("event %d is %s, and was recorded as %s", i+1, e.GetEventType(), r.History.GetEvents()[i].GetEventType())
		}
	}
}

// allTool has a hook on every stage.
const allTool = "test__all"

// longRetry is the pause that the tool of waiting_retry and the hook of waiting_until ask for.
const longRetry = 5 * time.Minute

// waitingTools returns the tools of the calls that were recorded while they waited, with the functions of a test. An approval is for one digest of a tool, so the
// recorder and the later worker must have the same definitions.
func waitingTools(f func(toolID string) e2etest.Run) []toolspec.Tool {
	var all []toolspec.Tool
	for toolID, change := range map[string][]func(*toolspec.Definition){
		"test__write": {e2etest.Idempotent, e2etest.Risky}, allTool: {e2etest.Idempotent, e2etest.Risky, e2etest.Attempts(2)},
		"test__busy": {e2etest.Once, e2etest.Attempts(3)}, "test__closed": {e2etest.Fast},
		"test__gone": {e2etest.Idempotent, e2etest.Risky}, "test__slow": {e2etest.Within(time.Minute)},
		"test__place": {e2etest.Within(2 * time.Minute)}, "test__hourly": {e2etest.Fast}, "test__read": {e2etest.Fast},
		"test__kept": {kept, e2etest.Within(2 * time.Minute)}, "test__hooked": {e2etest.Idempotent, e2etest.Risky}, "test__send": {e2etest.Once, brief},
	} {
		all = append(all, e2etest.Tool(toolID, f(toolID), change...))
	}
	fences := func(d *toolspec.Definition) { d.Fences = true }
	for toolID, change := range map[string][]func(*toolspec.Definition){
		"test__probed": {e2etest.Once, e2etest.Attempts(3), brief}, "test__fenced": {e2etest.Once, e2etest.Attempts(3), brief, fences},
		"test__claimed": {e2etest.Once, e2etest.Attempts(3), e2etest.Fast, e2etest.Longest},
	} {
		all = append(all, toolspec.DefineWithProbe(e2etest.Tool(toolID, nil, change...).Definition(), f(toolID), finds))
	}
	return all
}

// kept lets the results of a read be kept and shared.
func kept(d *toolspec.Definition) { d.CacheFor = time.Hour }

// gateHook is the hook of test__hooked.
var gateHook = worker.ToolHooks("test__hooked", hook.New("gate", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil })))

// brief is a short time limit that is still long enough for a second attempt on a busy machine.
var brief = e2etest.Within(3 * time.Second)

// finds is the probe of these tools. It reports an effect if the note of the call is "effect".
func finds(_ context.Context, in e2etest.In, _ toolspec.Call) (toolspec.Found[e2etest.Out], error) {
	if in.Note == "effect" {
		return toolspec.FoundEffect(e2etest.Out{Text: in.Text}), nil
	}
	return toolspec.FoundNoEffect[e2etest.Out](), nil
}

// waitingTool returns the tool with this id from waitingTools.
func waitingTool(toolID string, f e2etest.Run) toolspec.Tool {
	for _, one := range waitingTools(func(string) e2etest.Run { return f }) {
		if one.Definition().ID == toolID {
			return one
		}
	}
	panic("no such tool: " + toolID)
}
