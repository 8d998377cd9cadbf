package devcli

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/worker"
)

// printsItsEnvironment runs commands in another directory with the variables of `pawl dev env`, and checks that they find the servers.
func (s *site) printsItsEnvironment() {
	s.t.Helper()
	out, _ := s.run("work", nil, 0, "--json", "dev", "env")
	var variables map[string]string
	if err := json.Unmarshal([]byte(out), &variables); err != nil {
		s.t.Fatal(err)
	}
	var environ []string
	for name, value := range variables {
		environ = append(environ, name+"="+value)
	}
	out, _ = s.run("elsewhere", environ, 0, "tools", "list")
	s.says(out, "core__grep")
	out, _ = s.run("elsewhere", environ, 0, "doctor", "--json")
	s.says(out, `"ui": "http://`)
	out, _ = s.run("elsewhere", environ, 0, "invoke", "core__ls")
	s.says(out, "notes.txt")
	_, errs := s.run("elsewhere", nil, 1, "dev", "env")
	s.says(errs, "no `pawl dev` runs for this directory")
	// The environment of one that has ended says so, and does not become the servers of the next one.
	ended := []string{"PAWL_DEV_DIR=" + s.path("elsewhere"), "TEMPORAL_ADDRESS=127.0.0.1:1", "PAWL_DATABASE_URL=postgres://nobody@127.0.0.1:1/app"}
	for _, command := range [][]string{{"tools", "list"}, {"invoke", "core__ls"}, {"dev"}} {
		_, errs = s.run("elsewhere", ended, 1, command...)
		s.says(errs, "the environment is of a `pawl dev` in "+s.path("elsewhere")+" that has ended")
	}
}

// TestDevVariables: a shell reads each value as it is, and the password of a database that `pawl dev` did not start is not printed.
func TestDevVariables(t *testing.T) {
	t.Parallel()
	state := devstate.State{Temporal: "127.0.0.1:7233", Namespace: "default", UI: "http://127.0.0.1:8233", DatabaseURL: "postgres://pawl:s3same@h/d", KeyRing: "/home/o'neill/a b$c.json", Dir: "/home/o'neill"}
	shown := func() string {
		var b strings.Builder
		for _, v := range devVariables(&state) {
			b.WriteString("export " + v.name + "=" + quoteForShell(v.value) + "\n")
		}
		return b.String()
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", shown()+`printf '%s|' "$TEMPORAL_ADDRESS" "$TEMPORAL_NAMESPACE" "$PAWL_TEMPORAL_UI" "$PAWL_DATABASE_URL" "$PAWL_KEYRING_FILE" "$PAWL_DEV_DIR"`).Output()
	if want := "127.0.0.1:7233|default|http://127.0.0.1:8233|postgres://pawl:s3same@h/d|/home/o'neill/a b$c.json|/home/o'neill|"; err != nil || string(out) != want {
		t.Errorf("a shell reads %q, %v, want %q", out, err, want)
	}
	for _, v := range devVariables(&state) {
		if unknown := worker.UnknownVariables([]string{v.name + "=" + v.value}); len(unknown) > 0 {
			t.Errorf("no worker starts with %q", unknown)
		}
	}
	state.ForeignDatabase = true
	if text := shown(); strings.Contains(text, "s3same") || strings.Contains(text, "PAWL_DATABASE_URL") {
		t.Errorf("of another's database it prints %s", text)
	}
}
