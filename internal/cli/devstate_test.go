package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/filelock"
)

// placed is a directory of its own with the place that `pawl dev` has for it.
func placed(t *testing.T) (place string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	place, err := devDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestStateCountsOnlyWhileItIsClaimed: the number of a process that was killed
// may by now be another's; here it is this test's.
func TestStateCountsOnlyWhileItIsClaimed(t *testing.T) {
	place := placed(t)
	claim, err := claimDev(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	state := devState{PID: os.Getpid(), Dir: ".", DatabaseURL: "postgres://u:p@h/d"}
	forget, err := state.announce()
	if err != nil {
		t.Fatal(err)
	}
	found, err := findDev()
	if err != nil || found == nil || *found != state {
		t.Fatalf("found %+v, %v", found, err)
	}
	info, err := os.Stat(filepath.Join(place, "state.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the password: %v, %v", info.Mode(), err)
	}
	if _, err := claimDev(t.Context(), place); err == nil || !strings.Contains(err.Error(), "runs for this directory already") {
		t.Errorf("a second one: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if found, err := findDev(); err != nil || found != nil {
		t.Errorf("left behind, it is found: %+v, %v", found, err)
	}
	if again, err := claimDev(t.Context(), place); err != nil {
		t.Errorf("looking kept the claim: %v", err)
	} else if err := again.Release(); err != nil {
		t.Error(err)
	}
	forget()
	if _, err := os.Stat(filepath.Join(place, "state.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("forgotten, it is there: %v", err)
	}
}

func TestADamagedState(t *testing.T) {
	place := placed(t)
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(place, "state.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := findDev(); err != nil || found != nil {
		t.Errorf("of nobody's: %+v, %v", found, err)
	}
	claim, err := filelock.Try(filepath.Join(place, claimName))
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	if _, err := findDev(); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
		t.Errorf("of a running one: %v", err)
	}
}

func TestADirectoryHasOnePlace(t *testing.T) {
	place := placed(t)
	link := filepath.Join(t.TempDir(), "link")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	if got, err := devDir(link); err != nil || got != place {
		t.Errorf("by a link: %s, want %s, %v", got, place, err)
	}
	if got, err := devDir(".."); err != nil || got == place {
		t.Errorf("the directory above has the same place: %v", err)
	}
}

// TestConfigOfADev: what the environment names for Pawl wins, and nothing of it
// is mixed with what was found.
func TestConfigOfADev(t *testing.T) {
	place := placed(t)
	claim, err := claimDev(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	state := devState{PID: 1, Dir: ".", Temporal: "dev:1", Namespace: "default", UI: "http://dev", DatabaseURL: "postgres://dev"}
	if _, err := state.announce(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PAWL_DATABASE_URL", "DATABASE_URL", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE"} {
		t.Setenv(name, "")
	}
	t.Setenv("TEMPORAL_API_KEY", "key-of-another-server")
	t.Setenv("TEMPORAL_CONFIG_FILE", os.DevNull)
	t.Setenv("DATABASE_URL", "postgres://app")
	c, dev, err := config()
	if err != nil || dev == nil || c.DatabaseURL != "postgres://dev" || c.Temporal.HostPort != "dev:1" || dev.UI != "http://dev" {
		t.Fatalf("config %+v, %+v, %v", c, dev, err)
	}
	if c.Temporal.Credentials != nil || c.Temporal.ConnectionOptions.TLS != nil {
		t.Error("the key of another server would be sent to it")
	}
	t.Setenv("PAWL_DATABASE_URL", "postgres://mine")
	t.Setenv("TEMPORAL_ADDRESS", "mine:1")
	c, dev, err = config()
	if err != nil || c.DatabaseURL != "postgres://mine" || c.Temporal.HostPort != "mine:1" || dev.UI != "" {
		t.Errorf("config %+v, %+v, %v", c, dev, err)
	}
}

// TestTheQuestionOfTheDemo: Ctrl-C does not wait for an answer.
func TestTheQuestionOfTheDemo(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, in io.Reader) (string, error) {
		d := &demo{app: &app{Streams: Streams{In: in, Out: io.Discard}}}
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

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                "",
		"postgres://u:s3same@h:5432/d":    "postgres://u@h:5432/d",
		"postgres://h/d?password=s3same":  "postgres://h/d",
		"postgres://u@h/d?sslmode=verify": "postgres://u@h/d",
		"host=h password=s3same":          "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u:s3same@%zz/d":       "(set, and not of the form postgres://user:password@host/database)",
		"postgres:///d?password=s3same":   "(set, and not of the form postgres://user:password@host/database)",
	} {
		if got := withoutPassword(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestPIDOf(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]int{"pawl-worker:17@host": 17, "pawl-worker:x@host": 0, "17@host": 0, "pawl-worker:-1@host": 0} {
		if pid, host, ok := pidOf(identity); ok != (want > 0) || ok && (pid != want || host != "host") {
			t.Errorf("%s: %d at %s, %v", identity, pid, host, ok)
		}
	}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if gone(os.Getpid(), here) || gone(1<<30, "another-host") || !gone(1<<30, here) {
		t.Error("who is gone is known only of this host")
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	for _, list := range [][]int{nil, {}, {1}} {
		out, err := json.Marshal(listed(list))
		if err != nil || !strings.HasPrefix(string(out), "[") {
			t.Errorf("%v is %s, %v", list, out, err)
		}
	}
}

// TestNoHome: in a container there is no home directory, and no `pawl dev`.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if s, err := findDev(); s != nil || err != nil {
		t.Errorf("found %v, %v; want none", s, err)
	}
	if _, err := devDir("."); err == nil {
		t.Error("a place without a home directory")
	}
}
