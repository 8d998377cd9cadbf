package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	of := func(main debug.Module, deps []*debug.Module, settings ...debug.BuildSetting) Version {
		v := read(&debug.BuildInfo{Main: main, Deps: deps, Settings: settings})
		if v.Go == "" || v.Platform == "" {
			t.Errorf("%+v", v)
		}
		if v.PlanVersion == 0 || v.SchemaVersion == 0 {
			t.Errorf("%+v", v)
		}
		v.Go, v.Platform, v.PlanVersion, v.SchemaVersion = "", "", 0, 0
		return v
	}
	checkout := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}}
	if v := of(debug.Module{Path: module, Version: "(devel)"}, nil, checkout...); v != (Version{Version: "(devel)", Revision: "0123abc", Modified: true}) {
		t.Errorf("of a checkout: %+v", v)
	}
	if v := of(debug.Module{Path: module, Version: "v1.2.3"}, nil); v != (Version{Version: "v1.2.3"}) {
		t.Errorf("of a release: %+v", v)
	}
	// The commit is that of the other module.
	v := of(debug.Module{Path: "example.com/shop", Version: "v0.3.0"}, []*debug.Module{{Path: module, Version: "v1.2.3"}}, checkout...)
	if v.Version != "v1.2.3" || v.Revision != "" || v.Program == nil || *v.Program != (Program{Module: "example.com/shop", Version: "v0.3.0", Revision: "0123abc", Modified: true}) {
		t.Errorf("of another module's program: %+v, %+v", v, v.Program)
	}
	for replace, want := range map[string]string{"v1.3.0-fork": "v1.3.0-fork", "": "(devel)"} {
		v := of(debug.Module{Path: "example.com/shop"}, []*debug.Module{{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../pawl", Version: replace}}})
		if v.Version != want {
			t.Errorf("replaced by %q: %+v", replace, v)
		}
	}
	if v := read(nil); v.Version != "(unknown)" {
		t.Errorf("without build information: %+v", v)
	}
}
