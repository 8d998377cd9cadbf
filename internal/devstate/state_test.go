package devstate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/filelock"
)

// placed is a directory of its own with the place that `pawl dev` has for it.
func placed(t *testing.T) (place string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	place, err := Dir(".")
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestStateCountsOnlyWhileItIsClaimed: the number of a process that was killed
// may by now be another's; here it is this test's.
func TestStateCountsOnlyWhileItIsClaimed(t *testing.T) {
	place := placed(t)
	claim, err := Claim(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	state := State{PID: os.Getpid(), Dir: ".", DatabaseURL: "postgres://u:p@h/d"}
	forget, err := state.Announce()
	if err != nil {
		t.Fatal(err)
	}
	found, err := Find()
	if err != nil || found == nil || *found != state {
		t.Fatalf("found %+v, %v", found, err)
	}
	info, err := os.Stat(filepath.Join(place, "state.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the password: %v, %v", info.Mode(), err)
	}
	if _, err := Claim(t.Context(), place); err == nil || !strings.Contains(err.Error(), "runs for this directory already") {
		t.Errorf("a second one: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(); err != nil || found != nil {
		t.Errorf("left behind, it is found: %+v, %v", found, err)
	}
	if again, err := Claim(t.Context(), place); err != nil {
		t.Errorf("looking kept the claim: %v", err)
	} else if err := again.Release(); err != nil {
		t.Error(err)
	}
	forget()
	if _, err := os.Stat(filepath.Join(place, "state.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("forgotten, it is there: %v", err)
	}
}

func TestADamagedState(t *testing.T) {
	place := placed(t)
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(place, "state.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(); err != nil || found != nil {
		t.Errorf("of nobody's: %+v, %v", found, err)
	}
	claim, err := filelock.Try(filepath.Join(place, claimName))
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
		t.Errorf("of a running one: %v", err)
	}
}

func TestADirectoryHasOnePlace(t *testing.T) {
	place := placed(t)
	link := filepath.Join(t.TempDir(), "link")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	if got, err := Dir(link); err != nil || got != place {
		t.Errorf("by a link: %s, want %s, %v", got, place, err)
	}
	if got, err := Dir(".."); err != nil || got == place {
		t.Errorf("the directory above has the same place: %v", err)
	}
}

// TestNoHome: in a container there is no home directory, and no `pawl dev`.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if s, err := Find(); s != nil || err != nil {
		t.Errorf("found %v, %v; want none", s, err)
	}
	if _, err := Dir("."); err == nil {
		t.Error("a place without a home directory")
	}
}
