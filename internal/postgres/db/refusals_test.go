package db

import (
	"strings"
	"testing"
)

// TestRefusalsAreExplained: an error while the database is opened explains the common codes of the server, such as the code for a wrong password.
func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"28P01": "postgres: open: 28P01 (wrong user or password)",
		"3D000": "postgres: open: 3D000 (there is no such database)",
		"53300": "postgres: open: 53300",
	} {
		e := &Error{Op: "open", State: state}
		if got := e.Error(); got != want || !strings.HasPrefix(e.LogReason(), want) {
			t.Errorf("%s is %q, want %q", state, got, want)
		}
	}
}
