package capacity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSearchesLeaveRoom: sixty expensive searches of one tenant at the same time, which no policy limits, do not delay the calls of another tenant. These
// calls end before the searches.
func TestSearchesLeaveRoom(t *testing.T) {
	const (
		searches = 60
		others   = 20               // at least
		slowest  = `(?:\pL?){498}z` // the largest program of the slowest instructions
	)
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Connections = 20 // as by default
	// The files and their lines have the largest size that is searched.
	file := strings.Repeat(strings.Repeat("a", 16<<10-1)+"\n", 64)
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(w.Workspace, fmt.Sprint("file-", i)), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Work()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan toolspec.Result, searches)
	for i := range searches {
		inv := e2etest.Invocation(fmt.Sprint("search-", i), "core__grep", fmt.Sprintf(`{"pattern":%q,"regex":true}`, slowest))
		go func() {
			result, err := w.Pawl.Invoke(ctx, inv)
			if err == nil {
				ended <- result
			}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for i := range searches {
			_ = w.Temporal.TerminateWorkflow(context.WithoutCancel(t.Context()),
				e2etest.Invocation(fmt.Sprint("search-", i), "", "").Identity().WorkflowID(), "", "the test is over")
		}
	})
	for i := 0; i < others || len(ended) == 0; i++ {
		inv := e2etest.Invocation(fmt.Sprint("other-", i), "core__get_current_time", `{}`)
		inv.Context.TenantID = "globex"
		if r := w.Invoke(inv); !r.OK {
			t.Errorf("%s: %+v", inv.ToolCallID, r)
		}
	}
	// If the searches left no slots for other calls, most searches would end before these calls, however fast the machine is.
	if left := searches - len(ended); left < searches*3/4 {
		t.Errorf("only %d of %d searches were left after the calls of the other tenant: the calls waited for them", left, searches)
	}
	if first := e2etest.Receive(t, ended); !strings.Contains(string(first.Value), `"remark":"The search stopped`) {
		t.Errorf("a search answered %+v", first)
	}
}

// TestManySearches: under the shipped policy, sixty ordinary searches at the same time all succeed, because the searches beyond its limits wait.
func TestManySearches(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, policy.DevelopmentYAML())
	for i := range 5 {
		text := strings.Repeat("func other(x int) int {\n", 100) + fmt.Sprintf("func fooBar%d (x int) {\n", i)
		if err := os.WriteFile(filepath.Join(w.Workspace, fmt.Sprintf("%02d.go", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Work()
	calls := make([]*pawl.Call, 60)
	for i := range calls {
		calls[i] = w.Start(e2etest.Invocation(fmt.Sprint("search-", i), "core__grep", `{"pattern":"\\bfoo\\w+\\s*\\(","regex":true}`))
	}
	for _, call := range calls {
		if r := w.Result(call); !r.OK || !strings.Contains(string(r.Value), `"total":5,`) ||
			!strings.Contains(string(r.Value), `"incomplete":false`) {
			t.Errorf("%+v", r)
		}
	}
}

// TestLocalLaneLeavesRoom: slow calls of one tenant in the local lane use at most half of its slots, so that a call of another tenant does not wait for them.
// In the end all of them run.
func TestLocalLaneLeavesRoom(t *testing.T) {
	t.Parallel()
	const calls, connections, places = 20, 13, 5 // ten local activities run at once
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Connections = connections
	slow := e2etest.NewHung()
	w.Work(worker.Tools(e2etest.Tool("test__slow", slow.Run, e2etest.Fast, e2etest.Attempts(100)),
		e2etest.Tool("test__quick", e2etest.Echo, e2etest.Fast)))
	started := make([]*pawl.Call, calls)
	for i := range started {
		started[i] = w.Start(e2etest.Invocation(fmt.Sprint("slow-", i), "test__slow", `{"text":"hello"}`))
	}
	for range places {
		e2etest.Receive(t, slow.Entered)
	}
	w.Until(func() bool { return w.Log.Has("the local lane has no room for the tenant") }, "a call finds no room")
	others := 0
	w.Until(func() bool { // the slow tools may all be between two attempts, because the time of an attempt is short
		others++
		other := e2etest.Invocation(fmt.Sprint("other-", others), "test__quick", `{"text":"hello"}`)
		other.Context.TenantID = "globex"
		e2etest.WantText(t, w.Invoke(other), "hello")
		inside, _ := slow.Counts()
		return inside > 0
	}, "a call of another tenant ends beside slow ones")
	close(slow.Release)
	for _, call := range started {
		e2etest.WantText(t, w.Result(call), "hello")
	}
	if _, highest := slow.Counts(); highest != places {
		t.Errorf("%d tools ran at once, want %d", highest, places)
	}
}
