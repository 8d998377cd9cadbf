package operations

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	of := func(main debug.Module, deps []*debug.Module, settings ...debug.BuildSetting) version {
		v := versionOf(&debug.BuildInfo{Main: main, Deps: deps, Settings: settings})
		if v.Go == "" || v.Platform == "" {
			t.Errorf("%+v", v)
		}
		v.Go, v.Platform = "", ""
		return v
	}
	checkout := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}}
	if v := of(debug.Module{Path: module, Version: "(devel)"}, nil, checkout...); v != (version{Version: "(devel)", Revision: "0123abc", Modified: true}) {
		t.Errorf("of a checkout: %+v", v)
	}
	if v := of(debug.Module{Path: module, Version: "v1.2.3"}, nil); v != (version{Version: "v1.2.3"}) {
		t.Errorf("of a release: %+v", v)
	}
	// The commit is that of the other module.
	if v := of(debug.Module{Path: module + "/kms", Version: "(devel)"}, []*debug.Module{{Path: module, Version: "v1.2.3"}}, checkout...); v != (version{Version: "v1.2.3"}) {
		t.Errorf("of another module's program: %+v", v)
	}
	if v := versionOf(nil); v.Version != "(unknown)" {
		t.Errorf("without build information: %+v", v)
	}
}
