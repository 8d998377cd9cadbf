package devcli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/cli/terminaltest"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestMain puts a program pawl, which is this test binary, on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(devstacktest.Runner(m, contract.SearchAttributeNames()...), map[string]func(){"pawl": pawl})
}

// TestFlagHelp: backquotes in the help of a flag enclose the name of its value, which is one word.
func TestFlagHelp(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(new(app.App)) {
		for _, bad := range terminaltest.BadFlags(cmd) {
			t.Error(bad)
		}
	}
}

// pawl runs the same program as cmd/pawl.
func pawl() {
	os.Exit(cli.Program(Commands()))
}

// waitTimeout is how long a test waits for an event that should take a moment.
const waitTimeout = 2 * time.Minute

// eventually calls holds until it returns nil. After waitTimeout, it returns the last error of holds.
func eventually(ctx context.Context, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	var last error
	if err := app.WaitFor(ctx, func() bool { last = holds(); return last == nil }); err != nil {
		return last
	}
	return nil
}

// TestScripts runs the scripts in testdata/script: sessions at a terminal, as text.
func TestScripts(t *testing.T) {
	t.Parallel()
	program, err := temporalcli.Find(t.Context(), temporalcli.Options{})
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireUniqueNames: true, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for k, v := range map[string]string{
				"PAWL_APPROVER": "user:anna", "XDG_CACHE_HOME": filepath.Join(env.WorkDir, ".cache"), "TZ": "UTC",
				"TEMPORAL_CONFIG_FILE": os.DevNull, "TEMPORAL_DEBUG": os.Getenv("TEMPORAL_DEBUG"),
				"PATH": filepath.Dir(program) + string(filepath.ListSeparator) + env.Getenv("PATH"),
			} {
				env.Setenv(k, v)
			}
			return nil
		},
	})
}
