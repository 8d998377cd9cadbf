package operations

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// module is the path of the module whose version a program shows.
const module = "github.com/pawl-run/pawl"

// version describes the build of a program.
type version struct {
	// Version is the version of the module, or (devel) for a build from a checkout.
	Version string `json:"version"`
	// Revision is the commit of a build from a checkout. Modified says that the checkout had changes.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info)
			if a.JSON {
				return app.PrintJSON(a.Out, v)
			}
			fmt.Fprintf(a.Out, "pawl %s", v.Version)
			if v.Revision != "" {
				fmt.Fprintf(a.Out, ", commit %s", v.Revision)
			}
			if v.Modified {
				fmt.Fprint(a.Out, " with changes")
			}
			fmt.Fprintf(a.Out, ", %s, %s\n", v.Go, v.Platform)
			return nil
		},
	}
}

// versionOf returns the version in a program's build information, which is nil for a program that
// has none. A program of another module, such as one with the client of a KMS, has Pawl as a
// dependency.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Path != module {
		for _, dep := range info.Deps {
			if dep.Path == module {
				v.Version = dep.Version
			}
		}
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
