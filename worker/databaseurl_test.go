package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDatabaseURLFile: the file has the address of the database, as PAWL_DATABASE_URL does, and no error
// message has the content of the file.
func TestDatabaseURLFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("url", "postgres://pawl:s3same@db/pawl\n", 0o600)
	setEnvironment(t, map[string]string{"PAWL_DATABASE_URL_FILE": file, "DATABASE_URL": "postgres://app"})
	c, err := LoadConfig()
	if err != nil || c.DatabaseURL != "postgres://pawl:s3same@db/pawl" {
		t.Fatalf("%q, %v", c.DatabaseURL, err)
	}
	if unknown := UnknownVariables(os.Environ()); len(unknown) > 0 {
		t.Errorf("unknown: %q", unknown)
	}
	for _, tc := range []struct{ file, text, want string }{
		{file, "postgres://other", "both PAWL_DATABASE_URL_FILE and PAWL_DATABASE_URL are set"},
		{write("empty", " \n", 0o600), "", "PAWL_DATABASE_URL_FILE names an empty file"},
		{write("open", "postgres://pawl:s3same@db/pawl", 0o644), "", "may be read by others"},
		{filepath.Join(dir, "none"), "", "PAWL_DATABASE_URL_FILE: "},
	} {
		t.Setenv("PAWL_DATABASE_URL_FILE", tc.file)
		t.Setenv("PAWL_DATABASE_URL", tc.text)
		_, err := LoadConfig()
		if err == nil || !strings.HasPrefix(err.Error(), "config: ") || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%s: error %v", tc.file, err)
		}
	}
}

// TestDatabaseAddress: the address in the log has no part of a password that is not percent-encoded.
func TestDatabaseAddress(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:s3same@h:5432/d?sslmode=verify": "h:5432/d",
		"postgres://u:12/s3same@h/d":                  "",
		"postgres://u:12?s3same@h/d":                  "",
		"host=h password=s3same":                      "",
	} {
		if got := databaseAddress(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
