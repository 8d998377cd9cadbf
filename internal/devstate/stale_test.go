package devstate

import (
	"errors"
	"strings"
	"testing"
)

// TestStale: an environment of a `pawl dev` that has ended, or that was started again with other servers, is told from one that counts.
func TestStale(t *testing.T) {
	place := placed(t)
	fault := errors.New("no server listens")
	for _, name := range []string{DirVariable, "TEMPORAL_ADDRESS", "PAWL_DATABASE_URL"} {
		t.Setenv(name, "")
	}
	is := func(when, want string) {
		t.Helper()
		if got := Stale(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		if got := Explain(fault); !errors.Is(got, fault) || (got.Error() == fault.Error()) != (want == "") {
			t.Errorf("%s: the error is %q", when, got)
		}
	}
	is("without variables", "")
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	is("of another server", "")
	t.Setenv(DirVariable, ".")
	is("of none that runs", "that has ended")
	if Explain(nil) != nil {
		t.Error("there is nothing to explain")
	}
	claim, err := Claim(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	state := State{PID: 1, Dir: ".", Temporal: "127.0.0.1:2", DatabaseURL: "postgres://u:p@h/d"}
	forget, err := state.Announce()
	if err != nil {
		t.Fatal(err)
	}
	is("of an earlier one", "an earlier `pawl dev`")
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:2")
	is("of the one that runs, with a database of another owner", "")
	t.Setenv("PAWL_DATABASE_URL", "postgres://u:p@h/d")
	is("of the one that runs", "")
	t.Setenv("PAWL_DATABASE_URL", "postgres://u:p@h/earlier")
	is("of an earlier one with the same address", "an earlier `pawl dev`")
	forget()
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	is("of one that has ended", "that has ended")
	if strings.Contains(Stale(), "u:p@h") {
		t.Error("it shows the password")
	}
}
