package pools

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestRollingDeploy: the workers of two pools with different tools are replaced one by one, and for a while the second pool has no worker. Calls run all the
// time, and one call of each pool waits for an approval. No call is lost or ends as unavailable, and no tool that must not be repeated runs twice.
func TestRollingDeploy(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.ServeInChild()
	first := map[string][]*exec.Cmd{}
	for _, pool := range []string{"audio", "media"} {
		first[pool] = []*exec.Cmd{serveIn(w, pool, "1"), serveIn(w, pool, "1")}
	}
	waiting := map[string]*pawl.Call{}
	for pool := range first {
		call := w.Start(callOf(w, pool, "asked", "waits"))
		w.Waiting(call.WorkflowID)
		waiting[pool] = call
	}

	// Each caller makes one call after the other.
	done, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	var mu sync.Mutex
	ends, bad := map[string]int{}, []string(nil)
	for _, pool := range []string{"audio", "media"} {
		for _, tool := range []string{"read", "fast", "write", "send"} {
			callers.Go(func() {
				for n := 0; done.Err() == nil; n++ {
					inv := callOf(w, pool, tool, fmt.Sprint(n))
					result, err := w.Pawl.Invoke(t.Context(), inv)
					mu.Lock()
					ends[pool+" "+tool]++
					var failed *pawl.CallError
					if err != nil && !errors.As(err, &failed) || !result.OK {
						bad = append(bad, fmt.Sprintf("%s: %s %s (%v)", inv.ToolCallID, result.ErrorCode, result.SafeMessage, err))
					}
					mu.Unlock()
				}
			})
		}
	}
	more := func(what string) { // waits until some more calls of every kind have ended
		t.Helper()
		mu.Lock()
		before := make(map[string]int)
		for kind, n := range ends {
			before[kind] = n
		}
		mu.Unlock()
		w.Until(func() bool {
			mu.Lock()
			defer mu.Unlock()
			for _, kind := range []string{"audio read", "audio fast", "audio write", "audio send", "media read", "media fast", "media write", "media send"} {
				if ends[kind] < before[kind]+2 {
					return false
				}
			}
			return true
		}, "calls of every kind end "+what)
	}
	more("before the deploy")
	for _, old := range first["audio"] {
		serveIn(w, "audio", "2")
		terminate(t, old)
		more("after a worker was replaced")
	}
	for _, old := range first["media"] {
		terminate(t, old)
	}
	between := w.Start(callOf(w, "media", "read", "between")) // no worker has the tool now
	w.Until(func() bool { return strings.HasPrefix(queues(w, between.WorkflowID), "pawl") }, "the call has started")
	serveIn(w, "media", "2")
	serveIn(w, "media", "2")
	if r := w.Result(between); !r.OK {
		t.Errorf("the call that began without a worker of its pool ended with %s: %s", r.ErrorCode, r.SafeMessage)
	}
	more("after the deploy")
	stop()
	callers.Wait()

	for pool, call := range waiting {
		w.Approve(call.WorkflowID)
		if r := w.Result(call); !r.OK {
			t.Errorf("the call of %s that waited ended with %s: %s", pool, r.ErrorCode, r.SafeMessage)
		}
		if n := len(w.Effects(file(w, pool, "asked", "waits"))); n != 1 {
			t.Errorf("the call of %s that waited ran %d times", pool, n)
		}
	}
	if len(bad) > 0 {
		t.Errorf("%d calls failed:\n%s", len(bad), strings.Join(bad, "\n"))
	}
	for kind, n := range ends {
		pool, tool, _ := strings.Cut(kind, " ")
		for i := range n {
			if runs := len(w.Effects(file(w, pool, tool, fmt.Sprint(i)))); runs < 1 || tool == "send" && runs > 1 {
				t.Errorf("call %d of %s ran %d times", i, kind, runs)
			}
		}
	}
	t.Logf("calls: %v", ends)
}

// callOf returns a call of a tool of a pool. The tool writes into a file that belongs to the call.
func callOf(w *e2etest.World, pool, tool, name string) toolspec.Invocation {
	return e2etest.Invocation(pool+"-"+tool+"-"+name, "test__"+pool+"_"+tool, fmt.Sprintf(`{"text":%q}`, file(w, pool, tool, name)))
}

func file(w *e2etest.World, pool, tool, name string) string {
	return filepath.Join(w.Workspace, pool+"-"+tool+"-"+name)
}

// serveIn starts a worker of a pool in a separate process, and returns when its tools are published.
func serveIn(w *e2etest.World, pool, version string) *exec.Cmd {
	w.T.Helper()
	before := running(w, pool)
	cmd := w.ServeInChild(pool, version)
	w.Until(func() bool { return running(w, pool) == before+1 }, "the worker of the pool "+pool+" has published its tools")
	return cmd
}

// terminate stops a worker with SIGTERM, as a deploy does.
func terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a worker ended with %v", err)
	}
}
