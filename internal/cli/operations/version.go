package operations

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/buildinfo"
	"github.com/pawl-run/pawl/internal/cli/app"
)

func newVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := buildinfo.Current()
			if a.JSON {
				return app.PrintJSON(a.Out, v)
			}
			if p := v.Program; p != nil {
				fmt.Fprintf(a.Out, "%s %s%s\n", app.Printable(p.Module), app.Printable(p.Version), commit(p.Revision, p.Modified))
			}
			fmt.Fprintf(a.Out, "pawl %s%s, %s, %s, plan %d, schema %d\n", v.Version, commit(v.Revision, v.Modified), v.Go, v.Platform, v.PlanVersion, v.SchemaVersion)
			return nil
		},
	}
}

// commit returns the part of a line that names a commit, or "".
func commit(revision string, modified bool) string {
	switch {
	case revision == "":
		return ""
	case modified:
		return ", commit " + revision + " with changes"
	}
	return ", commit " + revision
}
