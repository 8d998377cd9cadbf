package devcli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	// The demo must not use the servers that the environment and a profile name.
	s.write("home/.config/temporalio/temporal.toml", "[profile.default]\naddress = \"127.0.0.1:1\"\nnamespace = \"other\"\napi_key = \"key\"\n[profile.default.tls]\nserver_name = \"other\"\n")
	s.runDemo([]string{
		"DATABASE_URL=postgres://nobody@127.0.0.1:1/app", "TEMPORAL_NAMESPACE=other", "TEMPORAL_API_KEY=key", "PAWL_TENANT=globex", "PAWL_POLICY=none.yaml", "PAWL_DATABASE_CONNECTIONS=many",
	})
}

// TestDemoOfAnOrdinaryUser runs the demo as the user nobody if the tests run as root, because
// Postgres does not run as root.
func TestDemoOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this is one already: see TestDemo")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("there is no user nobody")
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	// The user cannot reach the directories of the programs.
	path, _, _ := strings.Cut(strings.TrimPrefix(s.env[0], "PATH="), string(filepath.ListSeparator))
	s.copy(filepath.Join(path, "temporal"), "bin/temporal")
	s.copy(s.pawl, "bin/pawl")
	s.pawl, s.env[0] = s.path("bin/pawl"), "PATH="+s.path("bin")+string(filepath.ListSeparator)+os.Getenv("PATH")
	for _, dir := range []string{"home", "cache", "tmp", "work"} {
		if err := os.Chown(s.path(dir), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	s.runDemo(nil)
}

func (s *site) copy(from, to string) {
	s.t.Helper()
	s.write(to, "")
	in, err := os.Open(from)
	if err != nil {
		s.t.Fatal(err)
	}
	defer in.Close()
	// A process that another test forks would keep the file open for writing until
	// its exec, and until then the file cannot run ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(s.path(to), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		s.t.Fatal(err)
	}
	if err := out.Chmod(0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// runDemo runs the demo, checks its output, and checks that it leaves nothing behind.
func (s *site) runDemo(env []string) {
	s.t.Helper()
	out, errs := s.run("work", env, 0, "demo")
	s.says(out,
		"1. An agent searches", "notes.txt:1: a pawl keeps a ratchet", "1 matches",
		"2. Another tenant tries", "policy_denied: the tenant has no policy",
		"3. A model sends arguments that do not fit.", "validation at /path",
		"4. A write.", "waits for approval  ", "digest  ", "only signed decisions count",
		"a forged approval does not count: the proof is signed with a key that is not registered", "user:demo-approver decides: approve, signed with the key ", `now begins with "# Written by a tool call"`,
		"5. Another write.", "is dead. A new one starts", ": the file holds \"written once, whatever dies\"",
		"CALL ", "ENDED ", "HOW ", "WORKFLOW",
		"approved by user:demo-approver", ", on another worker", "tool:acme:demo-", "in the Temporal UI, a marker per stage: http://127.0.0.1:",
	)
	// The killed attempt is the first attempt, or a later attempt on a machine that stood still.
	for _, words := range []string{`in attempt [2-9]: the file holds`, `attempt [2-9], on another worker`} {
		if !regexp.MustCompile(words).MatchString(out) {
			s.t.Errorf("%q is not in:\n%s", words, out)
		}
	}
	if strings.Contains(errs, "pawl:") || strings.Contains(errs, "level=") {
		s.t.Errorf("it complains:\n%s", errs)
	}
	s.nothingRuns()
	for dir, want := range map[string]string{"work": "notes.txt", "tmp": ""} {
		var names []string
		entries, err := os.ReadDir(s.path(dir))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want {
			s.t.Errorf("%s holds %q, not %q", dir, got, want)
		}
	}
}

// TestWithout: a worker process gets no variable that names a server. It keeps TEMPORAL_DEBUG, with which the SDK waits for slow workflow code.
func TestWithout(t *testing.T) {
	t.Parallel()
	got := without([]string{"HOME=/", "TEMPORAL_ADDRESS=there:1", "TEMPORAL_DEBUG=1", "PAWL_TENANT=acme"}, "TEMPORAL_", "PAWL_")
	if want := []string{"HOME=/", "TEMPORAL_DEBUG=1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDemoBrokenOff ends the demo in the middle, with SIGINT and with SIGKILL. After
// SIGKILL, no process is left to remove the written files.
func TestDemoBrokenOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		status int
	}{{syscall.SIGINT, 1}, {syscall.SIGKILL, -1}} {
		t.Run(test.signal.String(), func(t *testing.T) {
			t.Parallel()
			breakOff(t, test.signal, test.status)
		})
	}
}

func breakOff(t *testing.T, signal syscall.Signal, status int) {
	t.Helper()
	s := newSite(t)
	c := s.start("work", nil, "demo")
	if err := eventually(t.Context(), func() error {
		if !strings.Contains(c.out.String(), "4. A write.") {
			return io.ErrNoProgress
		}
		return nil
	}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, c.out.String(), c.err.String())
	}
	if err := c.signal(signal); err != nil {
		t.Fatal(err)
	}
	c.ends(status)
	s.nothingRuns()
	if signal == syscall.SIGKILL {
		return
	}
	if left, err := filepath.Glob(s.path("work/pawl-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestTheQuestionOfTheDemo: Ctrl-C does not wait for an answer.
func TestTheQuestionOfTheDemo(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, in io.Reader) (string, error) {
		d := &demo{devApp: devApp{&app.App{Streams: app.Streams{In: in, Out: io.Discard}}}}
		return d.answer(ctx)
	}
	for text, want := range map[string]string{"y\nn\n": "y\n", "": "", "yes": "yes"} {
		if got, err := ask(t.Context(), strings.NewReader(text)); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	silent, end := io.Pipe()
	defer end.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, silent); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an answer: %v", err)
	}
}
