package takeovers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// hookedTool is the tool to which dyingHook belongs.
const hookedTool = "test__hooked"

// dyingHook returns a hook that ends its process after its first effect.
func dyingHook() hook.Hook {
	return hook.New("dying", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error { return dieOnce(v) }))
}

// dieOnce has an effect: it writes a line into a file beside the file of the tool. The first time it ends the process after that.
func dieOnce(v interface {
	Args() json.RawMessage
	IdempotencyKey() string
},
) error {
	var args e2etest.In
	if err := json.Unmarshal(v.Args(), &args); err != nil {
		return err
	}
	_, unknown := os.Stat(args.Text + ".hook")
	if err := e2etest.Enter(args.Text+".hook", v.IdempotencyKey()); err != nil {
		return err
	}
	if unknown == nil {
		return nil
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {}
}

// TestHookKeyAfterACrash: the worker dies after the effect of a hook and before it can report that. The next worker repeats the effect under the same key, and the
// tool runs once.
func TestHookKeyAfterACrash(t *testing.T) {
	t.Parallel()
	repeatsHook(e2etest.NewWorld(t, e2etest.PlainPolicy), hookedTool, "/willNormalizeInput/dying/1")
}

// repeatsHook makes a call whose hook kills the worker after its effect. It fails the test unless
// another worker repeats the effect under the same key, which ends with key, and the tool runs
// once.
func repeatsHook(w *e2etest.World, toolID, key string) *pawl.Call {
	w.T.Helper()
	first := w.ServeInChild()
	file := filepath.Join(w.T.TempDir(), "effects")
	call := w.Start(e2etest.Invocation("hooked", toolID, fmt.Sprintf(`{"text":%q}`, file)))
	w.Dies(first)
	w.ServeInChild()
	e2etest.WantText(w.T, w.Result(call), "done")
	keys := w.Effects(file + ".hook")
	// On a busy machine the second worker may need another attempt.
	if len(keys) < 2 || len(slices.Compact(slices.Clone(keys))) != 1 || keys[0] != call.InvocationID+key {
		w.T.Errorf("the hook's effects are keyed %q, want one key at least twice", keys)
	}
	if runs := w.Effects(file); len(runs) != 1 {
		w.T.Errorf("the tool was run by %v, want once", runs)
	}
	return call
}
