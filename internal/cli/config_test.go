package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstate"
)

// TestConfigOfADev: what the environment names for Pawl wins, and nothing of it
// is mixed with what was found.
func TestConfigOfADev(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	place, err := devstate.Dir(".")
	if err != nil {
		t.Fatal(err)
	}
	claim, err := devstate.Claim(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	state := devstate.State{PID: 1, Dir: ".", Temporal: "dev:1", Namespace: "default", UI: "http://dev", DatabaseURL: "postgres://dev"}
	if _, err := state.Announce(); err != nil {
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
		if got := WithoutPassword(url); got != want {
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
