package devstack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack"
)

func TestCommittedDataSurvivesAnImmediateStop(t *testing.T) {
	t.Parallel()
	postgres := startPostgres(t, devstack.PostgresOptions{})
	url := postgres.URL()
	execute(t, url, `CREATE TABLE kept AS SELECT 42 AS answer`)
	if err := postgres.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if postgres.PID() != 0 {
		t.Error("the server still runs")
	}
	if err := postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if postgres.URL() != url {
		t.Errorf("its address changed from %s to %s", url, postgres.URL())
	}
	wantAnswer(t, url)
}

func wantAnswer(t *testing.T, url string) {
	t.Helper()
	var answer int
	if err := connect(t, url).QueryRow(t.Context(), `SELECT answer FROM kept`).Scan(&answer); err != nil || answer != 42 {
		t.Errorf("the committed row is %d, %v", answer, err)
	}
}

func TestPersistentDataIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	// Root stores the data elsewhere, because the Postgres user cannot reach this directory.
	dir := t.TempDir()
	options := devstack.PostgresOptions{Dir: dir, Persist: true}
	first := startPostgres(t, options)
	t.Cleanup(func() { removeNotedData(t, dir) })
	execute(t, first.URL(), `CREATE TABLE kept AS SELECT 42 AS answer`)
	stop(t, first)

	second := startPostgres(t, options)
	if second.URL() != first.URL() {
		t.Error("the server has another address or password now")
	}
	wantAnswer(t, second.URL())
	var fsync string
	if err := connect(t, second.URL()).QueryRow(t.Context(), `SHOW fsync`).Scan(&fsync); err != nil || fsync != "on" {
		t.Errorf("fsync of kept data is %s, %v", fsync, err)
	}
}

func removeNotedData(t *testing.T, dir string) {
	noted, err := os.ReadFile(filepath.Join(dir, "postgres", "data-location"))
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(strings.TrimSpace(string(noted))); err != nil {
		t.Error(err)
	}
}

func TestAFailedStartSaysWhyAndWhere(t *testing.T) {
	dir := scratch(t)
	t.Setenv("TMPDIR", dir)
	_, err := devstack.StartPostgres(t.Context(), devstack.PostgresOptions{Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil {
		t.Fatal("the server started")
	}
	if !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		t.Errorf("the error lacks the end of the log: %v", err)
	}
	log := regexp.MustCompile(regexp.QuoteMeta(dir) + `\S+\.log`).FindString(err.Error())
	if text, readErr := os.ReadFile(log); readErr != nil || !strings.Contains(string(text), "no_such_setting") {
		t.Errorf("the error names no readable log: %v", err)
	}
	_ = os.Remove(log)
	if left := processesOf(t, filepath.Join(dir, "pawl-")); len(left) != 0 {
		t.Errorf("still running: %q", left)
	}
	wantEmpty(t, dir)
}
