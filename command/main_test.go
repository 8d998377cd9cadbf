package command_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/command"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestMain puts a program shop, which is this test binary, on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(devstacktest.Runner(m, contract.SearchAttributeNames()...), map[string]func(){"shop": shop})
}

type countIn struct {
	Text string `json:"text"`
}

type countOut struct {
	Words int `json:"words"`
}

// shop is a program as users write it.
func shop() {
	os.Exit(command.Main(worker.Tools(toolspec.Define(toolspec.Definition{
		ID: "shop__count_words", Description: "Counts the words of a text.", Version: "1",
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/words"}},
	}, func(_ context.Context, in countIn, _ toolspec.Call) (countOut, error) {
		return countOut{Words: len(strings.Fields(in.Text))}, nil
	}))))
}

// TestScripts runs testdata/script: the program of a user, from an empty database to a call.
func TestScripts(t *testing.T) {
	t.Parallel()
	url, address := devstacktest.Postgres(t), devstacktest.Temporal(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireUniqueNames: true, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for k, v := range map[string]string{
				"PAWL_DATABASE_URL": url, "TEMPORAL_ADDRESS": address, "PAWL_TENANT": "acme", "XDG_CACHE_HOME": filepath.Join(env.WorkDir, ".cache"),
				"TEMPORAL_CONFIG_FILE": os.DevNull,
			} {
				env.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until},
	})
}

// until PROGRAM ARGUMENTS… runs a program until it ends with status 0.
func until(ts *testscript.TestScript, _ bool, args []string) {
	var last error
	if !devstacktest.Eventually(context.Background(), time.Minute, func() bool {
		last = ts.Exec(args[0], args[1:]...)
		return last == nil
	}) {
		ts.Fatalf("%s: %v", strings.Join(args, " "), last)
	}
}
