package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/worker"
)

const childCallers = "callers"

// beCallers is the main function of a child process. The first argument is the number of callers, and the second one is the call that all of them make at the
// same time. Each caller prints its result as a line of JSON.
func beCallers(ctx context.Context, args []string) int {
	var inv toolspec.Invocation
	n, err := strconv.Atoi(args[0])
	if err == nil {
		err = json.Unmarshal([]byte(args[1]), &inv)
	}
	c, configured := worker.LoadConfig()
	temporal, dialled := client.DialContext(ctx, c.Temporal)
	if err := errors.Join(err, configured, dialled); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer temporal.Close()
	var callers sync.WaitGroup
	lines := make([]string, n)
	for i := range n {
		callers.Go(func() {
			result, err := pawl.New(temporal, pawl.Options{}).Invoke(ctx, inv)
			if lines[i] = e2etest.AsJSON(result); err != nil {
				lines[i] = err.Error()
			}
		})
	}
	callers.Wait()
	fmt.Fprintln(os.Stdout, strings.Join(lines, "\n"))
	return 0
}

// callerKind is a way to make a call. start starts the call or attaches to it, and result waits for its result.
type callerKind struct {
	start  func(w *e2etest.World, inv toolspec.Invocation)
	result func(w *e2etest.World, inv toolspec.Invocation) toolspec.Result
}

// callerKinds returns the ways to make a call: with the client for Go, the pawl program and the real temporal program.
func callerKinds() map[string]callerKind {
	return map[string]callerKind{
		"client": {
			start:  func(w *e2etest.World, inv toolspec.Invocation) { w.Start(inv) },
			result: func(w *e2etest.World, inv toolspec.Invocation) toolspec.Result { return w.Invoke(inv) },
		},
		"pawl": {
			start: func(w *e2etest.World, inv toolspec.Invocation) {
				if printed := w.PawlCLI(invoking(inv) + " --detach")[0]; !strings.Contains(printed, inv.Identity().WorkflowID()) {
					w.T.Errorf("pawl invoke --detach printed %s", printed)
				}
			},
			result: func(w *e2etest.World, inv toolspec.Invocation) toolspec.Result {
				return parsed[toolspec.Result](w, w.PawlCLI(invoking(inv))[0])
			},
		},
		"temporal": {start: startRaw, result: resultRaw},
	}
}

func invoking(inv toolspec.Invocation) string {
	return fmt.Sprintf("invoke %s --json --tenant %s --run %s --actor %s --call %s --args %s",
		inv.ToolID, inv.Context.TenantID, inv.Context.RunID, inv.Context.ActorID, inv.ToolCallID, inv.Args)
}

// startRaw starts a call with the temporal program as docs/contract.md says.
func startRaw(w *e2etest.World, inv toolspec.Invocation) {
	w.T.Helper()
	rawStart(w, inv.Identity().WorkflowID(), "--input", e2etest.AsJSON(inv), "--id-conflict-policy", "UseExisting", "--id-reuse-policy",
		"RejectDuplicate")
}

// resultRaw returns the result that the temporal program shows. It compares the input digest of the result with the call, as docs/contract.md requires.
func resultRaw(w *e2etest.World, inv toolspec.Invocation) toolspec.Result {
	w.T.Helper()
	startRaw(w, inv)
	r := parsed[toolspec.Result](w, e2etest.AsJSON(rawResult(w, inv.Identity().WorkflowID())))
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		w.T.Fatal(err)
	}
	if r.InputDigest != digest {
		return toolspec.Failure(toolspec.CodeConflict, "", nil)
	}
	return r
}

func parsed[T any](w *e2etest.World, text string) (v T) {
	w.T.Helper()
	// Programs print JSON with spaces for people. The comparison needs the compact form.
	var compact bytes.Buffer
	if err := errors.Join(json.Compact(&compact, []byte(text)), json.Unmarshal(compact.Bytes(), &v)); err != nil {
		w.T.Fatalf("%s: %v", text, err)
	}
	return v
}
