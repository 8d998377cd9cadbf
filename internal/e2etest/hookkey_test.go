package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// hookedTool is the one that dyingHook stands around.
const hookedTool = "test__hooked"

// dyingHook dies of its effect the first time.
func dyingHook() hook.Hook {
	return hook.New("dying", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error { return dieOnce(v) }))
}

// dieOnce has an effect, which it enters into a file beside that of the tool, and ends the process the first time.
func dieOnce(v interface {
	Args() json.RawMessage
	IdempotencyKey() string
},
) error {
	var args in
	if err := json.Unmarshal(v.Args(), &args); err != nil {
		return err
	}
	_, unknown := os.Stat(args.Text + ".hook")
	if err := enter(args.Text+".hook", v.IdempotencyKey()); err != nil {
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

// TestHookKeyAfterACrash: the worker dies of the effect of a hook before it can say so. The next one has the effect again, under the same
// key, and the tool runs once.
func TestHookKeyAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	first := w.serveInChild()
	file := filepath.Join(t.TempDir(), "effects")
	call := w.start(invocation("hooked", hookedTool, fmt.Sprintf(`{"text":%q}`, file)))
	w.dies(first)
	w.serveInChild()
	wantText(t, w.result(call), "done")
	keys := w.effects(file + ".hook")
	// On a busy machine the second worker may need another attempt.
	if len(keys) < 2 || len(slices.Compact(slices.Clone(keys))) != 1 || keys[0] != call.InvocationID+"/willNormalizeInput/dying/1" {
		t.Errorf("the hook's effects are keyed %q, want one key at least twice", keys)
	}
	if runs := w.effects(file); len(runs) != 1 {
		t.Errorf("the tool was run by %v, want once", runs)
	}
}
