package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/pawl-run/pawl/migrations"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// module is the path of the module whose version a program shows.
const module = "github.com/pawl-run/pawl"

// Version describes the build of a program.
type Version struct {
	// Version is the version of Pawl, or (devel) for a build from a checkout.
	Version string `json:"version"`
	// Revision is the commit of a build from a checkout. Modified says that the checkout had changes.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// Program describes a program of another module, which has Pawl as a dependency.
	Program  *Program `json:"program,omitempty"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	// PlanVersion is the version of the plan of calls that the program admits.
	PlanVersion int `json:"planVersion"`
	// SchemaVersion is the oldest version of the database schema that the program works with.
	SchemaVersion int64 `json:"schemaVersion"`
}

// Program describes the main module of a program with tools of its own.
type Program struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

// Current returns the version of the running program.
func Current() Version {
	info, _ := debug.ReadBuildInfo()
	return read(info)
}

// read returns the version of Pawl in the build information of a program. info is nil for a program without build
// information; the version is "(unknown)" then.
func read(info *debug.BuildInfo) Version {
	v := Version{
		Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		PlanVersion: hook.PlanVersion, SchemaVersion: migrations.Latest(),
	}
	if info == nil {
		return v
	}
	main := Program{Module: info.Main.Path, Version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			main.Revision = s.Value
		case "vcs.modified":
			main.Modified = s.Value == "true"
		}
	}
	if info.Main.Path == module {
		v.Version, v.Revision, v.Modified = main.Version, main.Revision, main.Modified
		return v
	}
	v.Program = &main
	for _, dep := range info.Deps {
		switch {
		case dep.Path != module:
		case dep.Replace == nil:
			v.Version = dep.Version
		default: // a directory has no version
			v.Version = cmp.Or(dep.Replace.Version, "(devel)")
		}
	}
	return v
}
