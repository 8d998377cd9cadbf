//go:build amd64 || arm64

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/sandbox"
	"github.com/pawl-run/pawl/toolspec"
)

// shellRules have no approvals, so that a call that needs an approval ends.
const shellRules = `
version: 1
tenants:
  auto:
    allowedTools: [core__*]
    mode: auto
    approvals: {enabled: false}
    rules:
      - {tool: core__*, decision: allow}
      - {tool: core__shell, commands: [echo *], decision: allow}
  ask: {allowedTools: [core__*], mode: ask, approvals: {enabled: false}}
  yolo: {allowedTools: [core__*], mode: yolo}
`

// TestShell: a script needs an approval in every mode except yolo, and runs without an approval if a rule names
// its commands. A cancelled call leaves no process. A worker without the tool does not offer it.
func TestShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", shellRules)
	invoke := func(tenant, id, command string) toolspec.Result {
		t.Helper()
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		result, _ := pawl.New(w.temporal, pawl.Options{}).Invoke(t.Context(), toolspec.Invocation{
			ToolID: "core__shell", ToolCallID: id, Args: args, Context: toolspec.Context{TenantID: tenant, RunID: "run", ActorID: "agent:reader"},
		}) // Invoke returns the error of the result
		return result
	}
	off := w.start()
	off.waitForLog(runs)
	if r := invoke("yolo", "off", "echo a"); r.OK || r.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("without PAWL_SHELL: %+v", r)
	}
	if err := off.stop(); err != nil {
		t.Fatal(err)
	}
	w.config.Shell.On = true
	if os.Geteuid() == 0 {
		w.start().expectError("PAWL_SHELL is on", "scripts would be root")
		if err := os.Chown(w.config.Workspace, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sandbox.Open(t.Context(), sandbox.Options{Workspace: w.config.Workspace}); err != nil && os.Getenv("CI") == "" && os.Geteuid() != 0 {
		t.Skip("this machine has no sandbox: ", err)
	}
	r := w.start()
	r.waitForLog(runs)
	for i, c := range []struct{ tenant, command, rule string }{
		{"auto", "rm -rf x", "mode auto, risk high"}, {"auto", "echo a; rm -rf x", "mode auto, risk high"}, {"ask", "echo a", "mode ask, risk high"},
		{"auto", "echo a && echo b", ""}, {"yolo", "echo a > f; cat f; rm -rf x", ""},
	} {
		got := invoke(c.tenant, fmt.Sprint("call-", i), c.command)
		switch {
		case c.rule == "" && (!got.OK || got.OutputRef == "" || !strings.Contains(string(got.Value), `"tail":"a\n`)):
			t.Errorf("%s, %s: %+v", c.tenant, c.command, got)
		case c.rule != "" && (got.OK || got.ErrorCode != toolspec.CodePolicyDenied || got.Details == nil || got.Details.Rule != c.rule):
			t.Errorf("%s, %s: %+v", c.tenant, c.command, got)
		}
	}

	marker := fmt.Sprintf("86403.%d", os.Getpid())
	ended := make(chan toolspec.Result, 1)
	go func() { ended <- invoke("yolo", "cancelled", "(setsid sleep "+marker+" &); sleep "+marker) }()
	w.until("the script runs", func() error {
		if len(argumentsWith(t, marker)) < 2 {
			return errors.New("it does not")
		}
		return nil
	})
	id := toolspec.Identity{TenantID: "yolo", RunID: "run", ToolCallID: "cancelled"}.WorkflowID()
	if err := w.temporal.CancelWorkflow(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.OK {
		t.Errorf("cancelled, it ends with %+v", got)
	}
	w.until("no process is left", func() error {
		if left := argumentsWith(t, marker); len(left) > 0 {
			return fmt.Errorf("%q", left)
		}
		return nil
	})
}

// argumentsWith returns the arguments of processes that have a text in them.
func argumentsWith(t *testing.T, text string) (all []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if args, err := os.ReadFile(name); err == nil && strings.Contains(string(args), text) {
			all = append(all, string(args))
		}
	}
	return all
}
