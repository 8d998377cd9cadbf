package historytest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var freeze = flag.String("freeze", "", "the release, such as v0.2.0, for which to list the histories that no release has listed yet")

const (
	historyDir = "../testdata/history"
	frozenFile = "../testdata/frozen.txt"
)

// frozen is a line of the list of released histories: the digest, the file and the first release that has it.
type frozen struct{ sum, file, release string }

func readFrozen(path string) (list []frozen, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q is not a digest, a file and a release", path, line)
		}
		list = append(list, frozen{sum: fields[0], file: fields[1], release: fields[2]})
	}
	return list, nil
}

func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// checkFrozen returns an error if a listed history is missing or has other bytes.
func checkFrozen(dir string, list []frozen) error {
	var faults []error
	for _, f := range list {
		switch sum, err := sumOf(filepath.Join(dir, f.file)); {
		case os.IsNotExist(err):
			faults = append(faults, fmt.Errorf("%s is gone: %s has released it, so calls with this history may run: restore the file", f.file, f.release))
		case err != nil:
			faults = append(faults, err)
		case sum != f.sum:
			faults = append(faults, fmt.Errorf("%s was changed after %s had released it: restore the file, and record the new history under another name", f.file, f.release))
		}
	}
	return errors.Join(faults...)
}

// TestReleasedHistories (DU-10): a history that a release has recorded is neither changed nor deleted. With -freeze it adds the new histories
// to the list.
func TestReleasedHistories(t *testing.T) {
	list, err := readFrozen(frozenFile)
	if err != nil && (*freeze == "" || !os.IsNotExist(err)) {
		t.Fatal(err)
	}
	if *freeze != "" {
		list = freezeMore(t, list, *freeze)
	}
	if err := checkFrozen(historyDir, list); err != nil {
		t.Error(err)
	}
	// No line of v0.1.0 was removed from the list.
	released := slices.DeleteFunc(slices.Clone(list), func(f frozen) bool { return f.release != "v0.1.0" })
	if len(released) != 75 {
		t.Errorf("v0.1.0 has released 75 histories, and the list has %d of them", len(released))
	}
}

// freezeMore adds the histories that the list lacks for a release, and writes the list.
func freezeMore(t *testing.T, list []frozen, release string) []frozen {
	t.Helper()
	entries, err := os.ReadDir(historyDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if slices.ContainsFunc(list, func(f frozen) bool { return f.file == e.Name() }) {
			continue
		}
		sum, err := sumOf(filepath.Join(historyDir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, frozen{sum, e.Name(), release})
	}
	var text strings.Builder
	text.WriteString("# Released histories: SHA-256, file, first release. Add to it with: go test ./workflows/historytest -run TestReleasedHistories -freeze RELEASE\n")
	for _, f := range list {
		fmt.Fprintln(&text, f.sum, f.file, f.release)
	}
	if err := os.WriteFile(frozenFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFrozenHistoriesCanFail: checkFrozen refuses a changed and a deleted history, and allows a new history.
func TestFrozenHistoriesCanFail(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("kept", "recorded")
	write("changed", "recorded")
	sum, err := sumOf(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	list := []frozen{{sum, "kept", "v1"}, {sum, "changed", "v1"}}
	write("new", "recorded later")
	if err := checkFrozen(dir, list); err != nil {
		t.Errorf("nothing was changed: %v", err)
	}
	write("changed", "recorded again")
	err = checkFrozen(dir, append(list, frozen{sum, "deleted", "v1"}))
	if err == nil || !strings.Contains(err.Error(), "deleted is gone") || !strings.Contains(err.Error(), "changed was changed") || strings.Contains(err.Error(), "kept") {
		t.Errorf("the faults are: %v", err)
	}
}
