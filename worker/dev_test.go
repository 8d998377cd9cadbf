package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/devstate"
)

// TestConfigOfADev: a program uses the `pawl dev` of its directory. If the environment names another server for
// Pawl, the program uses nothing of the `pawl dev`.
func TestConfigOfADev(t *testing.T) {
	setEnvironment(t, nil)
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
	state := devstate.State{PID: 1, Dir: ".", Temporal: "dev:1", Namespace: "default", UI: "http://dev", DatabaseURL: "postgres://dev", KeyRing: "dev.json"}
	if _, err := state.Announce(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_API_KEY", "key-of-another-server")
	t.Setenv("TEMPORAL_CONFIG_FILE", os.DevNull)
	t.Setenv("DATABASE_URL", "postgres://app")
	c, err := LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://dev" || c.Temporal.HostPort != "dev:1" || c.TemporalUI != "http://dev" || c.KeyRing.File != "dev.json" {
		t.Fatalf("config %+v, %v", c, err)
	}
	if c.Temporal.Credentials != nil || c.Temporal.ConnectionOptions.TLS != nil {
		t.Error("the key of another server would be sent to it")
	}
	t.Setenv("PAWL_DATABASE_URL", "postgres://dev") // as `pawl dev` takes a database of another owner
	c, err = LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://dev" || c.Temporal.HostPort != "dev:1" {
		t.Errorf("with the database of the pawl dev: %+v, %v", c, err)
	}
	t.Setenv("PAWL_DATABASE_URL", "postgres://mine")
	c, err = LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://mine" || c.Temporal.HostPort == "dev:1" || c.KeyRing.File != "" {
		t.Errorf("with another database: %+v, %v", c, err)
	}
	t.Setenv("PAWL_DATABASE_URL", "")
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("postgres://mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_DATABASE_URL_FILE", file)
	c, err = LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://mine" || c.Temporal.HostPort == "dev:1" || c.KeyRing.File != "" {
		t.Errorf("with another database in a file: %+v, %v", c, err)
	}
	t.Setenv("PAWL_DATABASE_URL_FILE", "")
	t.Setenv("TEMPORAL_ADDRESS", "mine:1")
	c, err = LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://app" || c.Temporal.HostPort != "mine:1" || c.KeyRing.File != "" {
		t.Errorf("with another Temporal: %+v, %v", c, err)
	}
	t.Setenv("PAWL_DATABASE_URL", "postgres://mine")
	t.Setenv("PAWL_KEYRING_FILE", "mine.json")
	c, err = LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://mine" || c.Temporal.HostPort != "mine:1" || c.TemporalUI != "" || c.KeyRing.File != "mine.json" {
		t.Errorf("config %+v, %v", c, err)
	}
}
