package devcli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstate"
)

// newDevEnv makes the command `pawl dev env`.
func newDevEnv(a devApp) *cobra.Command {
	return &cobra.Command{
		Use: "env", Short: "Print the environment that a program needs for the servers of `pawl dev`",
		Long: "Print the environment variables with which a program uses the servers of the `pawl dev` of this directory, for a\n" +
			"shell, or as JSON with --json. A program that connects with a Temporal SDK needs them, in Go too. The commands of\n" +
			"`pawl`, and Go programs that call worker.Main or worker.LoadConfig, find the servers without them if they run in\n" +
			"this directory. The address of the database contains its password. It is left out if `pawl dev` did not start the\n" +
			"database.",
		Example: "  eval \"$(pawl dev env)\"",
		Args:    app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			state, err := devstate.Find()
			if err != nil {
				return err
			}
			if state == nil {
				return errors.New("no `pawl dev` runs for this directory: start one with `pawl dev`")
			}
			variables := devVariables(state)
			if a.JSON {
				object := map[string]string{}
				for _, v := range variables {
					object[v.name] = v.value
				}
				return app.PrintJSON(a.Out, object)
			}
			for _, v := range variables {
				fmt.Fprintf(a.Out, "export %s=%s\n", v.name, quoteForShell(v.value))
			}
			if state.ForeignDatabase {
				fmt.Fprintln(a.Err, "PAWL_DATABASE_URL is left out: `pawl dev` uses a database that it did not start")
			}
			return nil
		},
	}
}

type variable struct{ name, value string }

// devVariables returns the environment of a program that uses the servers.
func devVariables(s *devstate.State) []variable {
	all := []variable{
		{"TEMPORAL_ADDRESS", s.Temporal},
		{"TEMPORAL_NAMESPACE", s.Namespace},
		{"TEMPORAL_CONFIG_FILE", os.DevNull}, // a profile's certificates and keys are for another server
		{"PAWL_TEMPORAL_UI", s.UI},
		{devstate.DirVariable, s.Dir}, // so that a program can say that the servers have ended
	}
	if !s.ForeignDatabase {
		all = append(all, variable{"PAWL_DATABASE_URL", s.DatabaseURL})
	}
	if s.KeyRing != "" {
		all = append(all, variable{"PAWL_KEYRING_FILE", s.KeyRing})
	}
	return all
}

// quoteForShell quotes a value for a POSIX shell.
func quoteForShell(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
