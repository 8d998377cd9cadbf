package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestMain puts a program pawl, which is this test binary, on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(devstacktest.Runner(m, contract.SearchAttributeNames()...), map[string]func(){"pawl": pawl})
}

// TestFlagHelp: backquotes in the help of a flag stand around the name of its value, which is a word: pflag shows it behind the flag.
func TestFlagHelp(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.ContainsAny(name, " ") || strings.Count(f.Usage, "`") > 2 {
				t.Errorf("%s --%s %s: %s", cmd.CommandPath(), f.Name, name, f.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(&app.App{}, nil))
}

// pawl is what cmd/pawl-server is.
func pawl() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(Main(ctx, os.Args[1:], app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
