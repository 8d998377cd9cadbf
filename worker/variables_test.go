package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	got := UnknownVariables([]string{
		"PAWL_TENNANT=acme", "PAWL_DATABSE_URL=postgres://u:s3same@h/d", "PAWL_TENANT=acme", "PAWL_POLICI=", "HOME=/", "XPAWL_A=1", "PAWL_TEST_CHILD=1",
		// The variables that Kubernetes sets for the services pawl and pawl-server.
		"PAWL_SERVICE_HOST=10.0.0.1", "PAWL_SERVICE_PORT=80", "PAWL_SERVICE_PORT_HTTP=80", "PAWL_PORT=tcp://10.0.0.1:80", "PAWL_PORT_80_TCP=x",
		"PAWL_PORT_80_TCP_ADDR=10.0.0.1", "PAWL_SERVER_SERVICE_HOST=10.0.0.1", "PAWL_SERVER_PORT_80_TCP_PROTO=tcp",
	})
	if want := []string{"PAWL_DATABSE_URL", "PAWL_TENNANT"}; !slices.Equal(got, want) {
		t.Errorf("unknown are %q, want %q", got, want)
	}
}

// TestCheckVariables: a worker does not start with a variable that nothing reads. The error has the most
// similar known variable, and not the value.
func TestCheckVariables(t *testing.T) {
	t.Parallel()
	if err := CheckVariables([]string{"PAWL_TENANT=acme", "PAWL_SERVICE_HOST=10.0.0.1", "HOME=/"}); err != nil {
		t.Error(err)
	}
	err := CheckVariables([]string{"PAWL_DATABSE_URL=postgres://u:s3same@h/d", "PAWL_XYZZY_OF_MINE=s3same"})
	if want := "config: nothing reads the environment variable PAWL_DATABSE_URL: did you mean PAWL_DATABASE_URL?; " +
		"nothing reads the environment variable PAWL_XYZZY_OF_MINE: remove it, or give it a name that does not begin with PAWL_"; err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
}

// TestEveryVariableIsKnown: the table has each variable that the code or the documents name, and no variable
// that no code reads.
func TestEveryVariableIsKnown(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\bPAWL_[A-Z0-9_]*[A-Z0-9]\b`)
	read := map[string]bool{}
	root := os.DirFS("..")
	if err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" && !strings.Contains(path, "chaos") || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return fs.SkipDir
		}
		code := filepath.Ext(path) == ".go" && path != "worker/variables.go" && path != "worker/variables_test.go"
		document := filepath.Ext(path) == ".md" && filepath.Dir(path) == "docs" || d.Name() == "docker-compose.yml"
		if d.IsDir() || !code && !document {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		for _, found := range name.FindAllString(string(text), -1) {
			read[found] = read[found] || code
			if unknown := UnknownVariables([]string{found + "=x"}); len(unknown) > 0 && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s names %s, which is not in the table of variables.go", path, found)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, v := range variables {
		if !read[v] && v != "PAWL_POSTGRES_PORT" { // docker compose reads it
			t.Errorf("no code reads %s", v)
		}
	}
}
