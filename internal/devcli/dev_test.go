package devcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// dev starts `pawl dev` in the directory work, and returns when its worker runs.
func (s *site) dev(args ...string) *child {
	s.t.Helper()
	c := s.start("work", nil, append([]string{"dev"}, args...)...)
	if err := eventually(s.t.Context(), func() error {
		select {
		case <-c.done:
			s.t.Fatalf("it ended: %s\n%s\n%s", c.cmd.ProcessState, c.out.String(), c.err.String())
		default:
		}
		if !strings.Contains(c.err.String(), "worker runs") {
			return errors.New(c.err.String())
		}
		return nil
	}); err != nil {
		s.t.Fatalf("no worker serves: %v", err)
	}
	return c
}

func (s *site) stateFiles() []string {
	s.t.Helper()
	found, err := filepath.Glob(s.path("cache/pawl/dev/*/state.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func TestDev(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dev := s.dev("--throwaway")
	s.says(dev.out.String(), "Temporal UI  http://127.0.0.1:", "Workspace    "+s.path("work"), "Ctrl-C stops everything")
	s.says(dev.err.String(), "unsigned approval decisions count")

	t.Run("is found without flags or environment", func(t *testing.T) {
		s := s.of(t)
		out, _ := s.run("work", nil, 0, "tools", "list")
		s.says(out, "core__grep")
		out, errs := s.run("work", []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/app"}, 0, "invoke", "core__grep", "--args", `{"pattern":"ratchet"}`, "--call", "c")
		s.says(out, `"path": "notes.txt"`)
		s.says(errs, "http://127.0.0.1:")
		out, _ = s.run("work", nil, 0, "show", "c")
		s.says(out, "core__grep  settled", "look        http://127.0.0.1:", "/namespaces/default/workflows/tool:acme:cli:c")
	})
	t.Run("doctor", func(t *testing.T) {
		s := s.of(t)
		d := s.doctor()
		if !strings.HasPrefix(d.Temporal.UI, "http://127.0.0.1:") || !strings.HasPrefix(d.Temporal.Address, "127.0.0.1:") ||
			!strings.HasPrefix(d.Database.URL, "postgres://pawl@127.0.0.1:") || len(d.Checks) != 11 {
			t.Errorf("diagnosis %+v", d)
		}
		if !slices.Equal(d.Worker.PIDs, []int{dev.cmd.Process.Pid}) {
			t.Errorf("workers %v, not %d", d.Worker.PIDs, dev.cmd.Process.Pid)
		}
		// Another worker finds the servers too. Temporal lists it for minutes after its end.
		c := s.start("work", nil, "worker")
		c.waitForMessage("(worker runs)")
		if err := eventually(t.Context(), func() error {
			if found := s.doctor().Worker.PIDs; !slices.Contains(found, c.cmd.Process.Pid) {
				return fmt.Errorf("workers %v", found)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := c.signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.ends(-1)
		if found := s.doctor().Worker.PIDs; !slices.Equal(found, []int{dev.cmd.Process.Pid}) {
			t.Errorf("after its end, workers %v", found)
		}
	})
	t.Run("has a key ring", func(t *testing.T) {
		s := s.of(t)
		s.run("work", []string{"MY_TOKEN=s3same"}, 0, "connections", "add", "gh", "--provider", "github", "--secret-env", "MY_TOKEN")
		out, _ := s.run("work", nil, 0, "keyring", "rotate") // by the worker of dev, which has the same ring
		s.says(out, "0 secrets were resealed with the key ")
	})
	t.Run("is not found elsewhere", func(t *testing.T) {
		s := s.of(t)
		_, errs := s.run("elsewhere", nil, 1, "tools", "list")
		s.says(errs, "no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL")
	})
	t.Run("what the environment names wins", func(t *testing.T) {
		s := s.of(t)
		_, errs := s.run("work", []string{"PAWL_DATABASE_URL=postgres://nobody@127.0.0.1:1/app"}, 1, "tools", "list")
		s.says(errs, "postgres://nobody@127.0.0.1:1/app: no server listens")
		_, errs = s.run("work", []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}, 1, "invoke", "core__ls")
		s.says(errs, "127.0.0.1:1: no server listens at TEMPORAL_ADDRESS")
	})
	t.Run("invoke says what it waits for", func(t *testing.T) {
		s := s.of(t)
		c := s.start("work", nil, "invoke", "core__write_file", "--args", `{"path":"new.txt","content":"x"}`)
		id := c.waitForMessage(`waits for a person: .pawl approve ([0-9a-f.-]+).`)
		s.run("work", nil, 0, "approve", id, "--as", "user:anna")
		c.ends(0)

		address := regexp.MustCompile(`Temporal +(127\S+)`).FindStringSubmatch(dev.out.String())[1]
		s.namespace(address, "nobody-works-here")
		there := []string{"TEMPORAL_ADDRESS=" + address, "TEMPORAL_NAMESPACE=nobody-works-here"}
		c = s.start("work", there, "invoke", "core__write_file", "--args", `{"path":"newer.txt","content":"x"}`)
		c.waitForMessage("no worker answers yet; `(pawl doctor)`")
		// After this hint, the command also prints the next hint.
		s.start("work", there, "worker")
		c.waitForMessage(`(waits for a person): .pawl approve `)
	})
	t.Run("prints what a program needs", func(t *testing.T) { s.of(t).printsItsEnvironment() })
	t.Run("is refused twice", func(t *testing.T) {
		s := s.of(t)
		_, errs := s.run("work", nil, 1, "dev", "--throwaway")
		s.says(errs, fmt.Sprintf("`pawl dev` runs for this directory already (process %d)", dev.cmd.Process.Pid))
	})

	if len(s.stateFiles()) != 1 {
		t.Errorf("states %v", s.stateFiles())
	}
	if err := dev.signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	dev.ends(0)
	s.nothingRuns()
	if left := s.stateFiles(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, err := os.ReadDir(s.path("tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	_, errs := s.run("work", nil, 1, "tools", "list")
	s.says(errs, "no database")
}

// of returns a copy of the site that reports errors to a subtest.
func (s *site) of(t *testing.T) *site {
	t.Helper()
	sub := *s
	sub.t = t
	return &sub
}

// TestDevKilled: after SIGKILL no process is left, and the next run has the data of the run before.
func TestDevKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dev := s.dev()
	s.run("work", nil, 0, "invoke", "core__ls", "--call", "kept")
	if err := dev.cmd.Process.Kill(); err != nil { // not its process group
		t.Fatal(err)
	}
	s.nothingRuns()
	if len(s.stateFiles()) != 1 {
		t.Error("it was killed and took its state back: this test shows nothing")
	}
	_, errs := s.run("work", nil, 1, "tools", "list")
	s.says(errs, "no database: run `pawl dev`")

	again := s.dev()
	out, _ := s.run("work", nil, 0, "list")
	s.says(out, " kept ")
	if err := again.signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	again.ends(0)
	s.nothingRuns()
}

// diagnosis has the parts of the output of pawl doctor that these tests check.
type diagnosis struct {
	Temporal struct{ Address, UI string }
	Database struct{ URL string }
	Worker   struct{ PIDs []int }
	Checks   []struct{}
}

func (s *site) doctor() diagnosis {
	s.t.Helper()
	out, _ := s.run("work", nil, 0, "doctor", "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		s.t.Fatal(err)
	}
	return d
}

// waitForMessage waits until standard error matches the pattern words and returns its first group.
func (c *child) waitForMessage(words string) string {
	c.s.t.Helper()
	pattern := regexp.MustCompile(words)
	if err := eventually(c.s.t.Context(), func() error {
		if !pattern.MatchString(c.err.String()) {
			return errors.New(c.err.String())
		}
		return nil
	}); err != nil {
		c.s.t.Fatalf("it never says %q: %v", words, err)
	}
	return pattern.FindStringSubmatch(c.err.String())[1]
}

// namespace makes a namespace in which workflows can be started.
func (s *site) namespace(address, name string) {
	s.t.Helper()
	t, err := temporal.DialContext(s.t.Context(), app.WithTimeout(temporal.Options{HostPort: address, Namespace: name}, waitTimeout))
	if err != nil {
		s.t.Fatal(err)
	}
	defer t.Close()
	if _, err := t.WorkflowService().RegisterNamespace(s.t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		s.t.Fatal(err)
	}
	if err := eventually(s.t.Context(), func() error {
		_, err := t.ExecuteWorkflow(s.t.Context(), temporal.StartWorkflowOptions{TaskQueue: "nobody"}, "Probe")
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
}

// TestDevWithAWorker: a command runs instead of the worker, finds the servers in its environment, and ends when pawl ends, by a signal or by
// a kill.
func TestDevWithAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, errs := s.run("work", nil, 2, "dev", "worker")
	s.says(errs, "expected no arguments, or a command after --")
	_, errs = s.run("work", nil, 1, "dev", "--throwaway", "--", "no-such-program")
	s.says(errs, "the command no-such-program: executable file not found")

	dev := s.dev("--throwaway", "--", s.pawl, "worker")
	out, _ := s.run("work", nil, 0, "tools", "list")
	s.says(out, "core__grep")
	out, _ = s.run("work", nil, 0, "invoke", "core__grep", "--args", `{"pattern":"ratchet"}`)
	s.says(out, `"path": "notes.txt"`)
	d := s.doctor()
	if len(d.Worker.PIDs) != 1 || d.Worker.PIDs[0] == dev.cmd.Process.Pid {
		t.Errorf("the workers are %v: pawl dev itself is %d", d.Worker.PIDs, dev.cmd.Process.Pid)
	}
	if err := syscall.Kill(dev.cmd.Process.Pid, syscall.SIGINT); err != nil { // not its process group
		t.Fatal(err)
	}
	dev.ends(0)
	s.nothingRuns()

	dev = s.dev("--throwaway", "--", "sh", "-c", s.pawl+" worker")
	if err := dev.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.nothingRuns()

}

// TestDevHasTheStatusOfItsCommand: `pawl dev` ends with the exit status of its command, so that CI sees that tests failed.
func TestDevHasTheStatusOfItsCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for command, want := range map[string]struct {
		status int
		says   string
	}{
		"exit 0":        {0, ""},
		"exit 7":        {7, "the command sh ended with exit status 7"},
		"kill -KILL $$": {137, "the command sh ended with signal: killed"},
		// The servers run while the command runs.
		s.pawl + " policy show": {0, ""},
	} {
		_, errs := s.run("work", nil, want.status, "dev", "--throwaway", "--", "sh", "-c", command)
		s.says(errs, want.says)
		if want.says == "" && strings.Contains(errs, "ended with") {
			t.Errorf("%s: %s", command, errs)
		}
	}
	s.nothingRuns()
}

func TestDevWithAFaultyPolicy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("work/policy.yaml", "version: 1\ntenants:\n  acme:\n    allowedTools: []\n    mode: sometimes\n")
	out, errs := s.run("work", nil, 1, "dev", "--throwaway", "--policy", "policy.yaml")
	s.says(errs, "pawl: policy.yaml:5:11: tenants.acme.mode: must be yolo, auto or ask")
	if out != "" || strings.Contains(errs, "starting") {
		t.Errorf("it started something:\n%s%s", out, errs)
	}
	_, errs = s.run("work", nil, 1, "dev", "--throwaway", "--policy", "missing.yaml")
	s.says(errs, "missing.yaml: no such file")
	_, errs = s.run("work", []string{"PAWL_POLICY=policy.yaml", "PAWL_DATABASE_URL=postgres://nobody@127.0.0.1:1/app"}, 1, "worker")
	s.says(errs, "pawl: policy: policy.yaml:5:11: ")
}
