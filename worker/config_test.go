package worker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/sandbox"
)

// setEnvironment clears the environment variables of Pawl, and sets the variables of the test.
func setEnvironment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PAWL_") || strings.HasPrefix(name, "TEMPORAL_") || name == "DATABASE_URL" {
			t.Setenv(name, "")
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // so that no test finds a `pawl dev`
	for name, value := range set {
		t.Setenv(name, value)
	}
}

func TestLoadConfig(t *testing.T) {
	setEnvironment(t, map[string]string{
		"TEMPORAL_ADDRESS": "temporal:7233", "TEMPORAL_NAMESPACE": "tools", "PAWL_DATABASE_URL": "postgres://pawl", "DATABASE_URL": "postgres://app",
		"PAWL_WORKSPACE": "/srv", "PAWL_POLICY": "p.yaml", "PAWL_SEARCH_ATTRIBUTES": "off", "PAWL_CONNECTION_KEY": "key",
		"PAWL_DATABASE_CONNECTIONS": "7", "PAWL_LOG_LEVEL": "warn", "PAWL_SWEEP_EVERY": "90s", "PAWL_RETENTION": "30",
		"PAWL_OPENFGA_URL": "http://fga", "PAWL_OPENFGA_STORE": "s", "PAWL_OPENFGA_MODEL": "m", "PAWL_OPENFGA_TOKEN": "t",
		"PAWL_DISABLED_TOOLS": "core__write_file, mail__*",
	})
	c, err := LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if c.Temporal.HostPort != "temporal:7233" || c.Temporal.Namespace != "tools" || c.DatabaseURL != "postgres://pawl" || c.Workspace != "/srv" ||
		c.PolicyFile != "p.yaml" || c.ApplyPolicy || c.SearchAttributes || string(c.ConnectionKey) != "key" || c.Connections != 7 ||
		c.SweepEvery != 90*time.Second || c.RetentionDays != 30 || c.OpenFGA != (OpenFGA{URL: "http://fga", StoreID: "s", ModelID: "m", Token: "t"}) {
		t.Errorf("config %+v", c)
	}
	if !slices.Equal(c.DisabledTools, []string{"core__write_file", "mail__*"}) {
		t.Errorf("turned off are %q", c.DisabledTools)
	}
	if c.Log.Enabled(t.Context(), slog.LevelInfo) || !c.Log.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("the log has another level")
	}
}

func TestLoadConfigDefaults(t *testing.T) {
	setEnvironment(t, map[string]string{"DATABASE_URL": "postgres://app"})
	c, err := LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if c.DatabaseURL != "postgres://app" || !c.SearchAttributes || c.Connections != defaultConnections || len(c.ConnectionKey) != 0 ||
		c.SweepEvery != time.Minute || c.RetentionDays != 400 {
		t.Errorf("config %+v", c)
	}
	if !c.Log.Enabled(t.Context(), slog.LevelInfo) || c.Log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("the log has another level")
	}
	if namespaceOf(c) != client.DefaultNamespace {
		t.Errorf("namespace %q", namespaceOf(c))
	}
}

func TestLoadConfigRefuses(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"PAWL_DATABASE_CONNECTIONS", "many", "is not a number"},
		{"PAWL_DATABASE_CONNECTIONS", "4.5", "is not a number"},
		{"PAWL_DATABASE_CONNECTIONS", "0", "between 4 and 1000"},
		{"PAWL_DATABASE_CONNECTIONS", "3", "between 4 and 1000"},
		{"PAWL_DATABASE_CONNECTIONS", "-1", "between 4 and 1000"},
		{"PAWL_DATABASE_CONNECTIONS", "1001", "between 4 and 1000"},
		{"PAWL_SWEEP_EVERY", "often", "a duration such as 1m, or off"},
		{"PAWL_SWEEP_EVERY", "0", "a duration such as 1m, or off"},
		{"PAWL_SWEEP_EVERY", "999ms", "at least 1s, or off"},
		{"PAWL_SWEEP_EVERY", "-1m", "at least 1s, or off"},
		{"PAWL_RETENTION", "long", "not a number of days"},
		{"PAWL_RETENTION", "0", "between 1 and 3650"},
		{"PAWL_RETENTION", "3651", "between 1 and 3650"},
		{"PAWL_LOG_LEVEL", "loud", "debug, info, warn or error"},
		{"TEMPORAL_PROFILE", "nobody", "TEMPORAL_*"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			setEnvironment(t, map[string]string{test.name: test.value})
			_, err := LoadConfig()
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "config: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Config{DatabaseURL: "postgres://pawl"}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if c.Workspace != here || c.Connections != defaultConnections || c.Log == nil || c.SweepEvery != 0 || c.RetentionDays != 400 {
		t.Errorf("config %+v", c)
	}
	if c, err = (Config{DatabaseURL: "postgres://pawl", Workspace: "sub", Connections: 4}).complete(); err != nil || c.Workspace != filepath.Join(here, "sub") || c.Connections != 4 {
		t.Errorf("config %+v, %v", c, err)
	}
	if _, err := (Config{DatabaseURL: "postgres://pawl", SweepEvery: time.Millisecond}).complete(); err == nil || !strings.Contains(err.Error(), "at least 1s") {
		t.Errorf("with a sweep every millisecond: %v", err)
	}
	if _, err := (Config{}).complete(); err == nil || !strings.Contains(err.Error(), "set PAWL_DATABASE_URL") {
		t.Errorf("without a database: %v", err)
	}
	if _, err := (Config{DatabaseURL: "postgres://pawl", Connections: 3}).complete(); err == nil || !strings.Contains(err.Error(), "between 4 and 1000") {
		t.Errorf("with three connections: %v", err)
	}
}

func TestNoSweeps(t *testing.T) {
	setEnvironment(t, map[string]string{"DATABASE_URL": "postgres://app", "PAWL_SWEEP_EVERY": "off"})
	if c, err := LoadConfig(); err != nil || c.SweepEvery != 0 {
		t.Errorf("every %s, %v", c.SweepEvery, err)
	}
}

// TestLocalSlots: the tools of one tenant get half of the local activities.
func TestLocalSlots(t *testing.T) {
	for connections, want := range map[int][2]int{minConnections: {1, 1}, 5: {2, 1}, defaultConnections: {17, 8}, maxConnections: {997, 498}} {
		c := Config{Connections: connections}
		if got := [2]int{c.localActivities(), c.localTools()}; got != want {
			t.Errorf("%d connections: %d local activities, %d tools of a tenant; want %v", connections, got[0], got[1], want)
		}
	}
}

// TestShellWorkspace: a worker that runs scripts has no default workspace, because scripts may change all files
// of the workspace.
func TestShellWorkspace(t *testing.T) {
	t.Parallel()
	c := Config{DatabaseURL: "postgres://pawl", Shell: Shell{On: true}}
	for workspace, want := range map[string]string{"": "PAWL_WORKSPACE is not set", "/srv/{tenant}": "its own workspace", "/": "/ contains"} {
		c.Workspace = workspace
		if workspace != "/" { // the sandbox refuses /, after the servers have answered
			if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a worker with the workspace %q: %v", workspace, err)
			}
		}
		if _, err := c.Shell.Protections(t.Context(), workspace); err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("the workspace %q: %v", workspace, err)
		}
	}
}

func TestPool(t *testing.T) {
	setEnvironment(t, map[string]string{"DATABASE_URL": "postgres://app", "PAWL_POOL": "media-2"})
	if c, err := LoadConfig(); err != nil || c.Pool != "media-2" {
		t.Errorf("the pool is %q, %v", c.Pool, err)
	}
	for _, name := range []string{"Media", "a_b", "-a", strings.Repeat("a", 41)} {
		if _, err := (Config{DatabaseURL: "postgres://pawl", Pool: name}).complete(); err == nil || !strings.Contains(err.Error(), "PAWL_POOL") {
			t.Errorf("the pool %q: %v", name, err)
		}
	}
}
