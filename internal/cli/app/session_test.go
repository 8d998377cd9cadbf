package app

import (
	"os"
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
	c, dev, err := LoadConfig()
	if err != nil || dev == nil || c.DatabaseURL != "postgres://dev" || c.Temporal.HostPort != "dev:1" || dev.UI != "http://dev" {
		t.Fatalf("config %+v, %+v, %v", c, dev, err)
	}
	if c.Temporal.Credentials != nil || c.Temporal.ConnectionOptions.TLS != nil {
		t.Error("the key of another server would be sent to it")
	}
	t.Setenv("PAWL_DATABASE_URL", "postgres://mine")
	t.Setenv("TEMPORAL_ADDRESS", "mine:1")
	c, dev, err = LoadConfig()
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
