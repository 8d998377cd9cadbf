package pinned

import "testing"

func TestTheCacheDirectoryFollowsXDG(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	for xdg, want := range map[string]string{"/cache": "/cache/pawl", "": "/home/somebody/.cache/pawl", "relative": "/home/somebody/.cache/pawl"} {
		t.Setenv("XDG_CACHE_HOME", xdg)
		if dir, err := (Program{}).cacheDir(); err != nil || dir != want {
			t.Errorf("XDG_CACHE_HOME=%q gives %s, %v", xdg, dir, err)
		}
	}
}

// TestPinNamesTheSources: different sources have different pins.
func TestPinNamesTheSources(t *testing.T) {
	p := Program{Version: "v1", Mod: []byte("m"), Sum: []byte("s")}
	pins := map[string]bool{p.Pin(): true}
	for _, other := range []Program{{Version: "v2", Mod: p.Mod, Sum: p.Sum}, {Version: "v1", Mod: []byte("n"), Sum: p.Sum}, {Version: "v1", Mod: p.Mod, Sum: []byte("t")}} {
		if pins[other.Pin()] {
			t.Errorf("%+v is taken for another", other)
		}
		pins[other.Pin()] = true
	}
}
