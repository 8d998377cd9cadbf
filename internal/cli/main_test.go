package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/cli/terminaltest"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestMain puts a program pawl, which is this test binary, on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(devstacktest.Runner(m, contract.SearchAttributeNames()...), map[string]func(){"pawl": pawl})
}

// TestFlagHelp: backquotes in the help of a flag enclose the name of its value, which is one word, because pflag shows this name after the flag.
func TestFlagHelp(t *testing.T) {
	t.Parallel()
	for _, bad := range terminaltest.BadFlags(newRoot(&app.App{}, nil)) {
		t.Error(bad)
	}
}

// pawl runs the same program as cmd/pawl-server.
func pawl() {
	os.Exit(Program())
}
