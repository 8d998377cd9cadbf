package skew

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// release is a line of releases.txt.
type release struct{ tag, commit string }

func releases(t *testing.T) (all []release) {
	t.Helper()
	text, err := os.ReadFile("releases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		tag, commit, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || len(commit) != 40 {
			t.Fatalf("releases.txt: %q is not a tag and a commit", line)
		}
		all = append(all, release{tag, commit})
	}
	if len(all) == 0 {
		t.Fatal("releases.txt has no release")
	}
	return all
}

// git runs git in the checkout and returns its output.
func git(t *testing.T, environment []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", "../../.."}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(text), nil
}

// need makes sure that the clone has the commit of the release. In a shallow clone it fetches this one commit.
func (r release) need(t *testing.T) {
	t.Helper()
	if _, err := git(t, nil, "cat-file", "-e", r.commit+"^{commit}"); err == nil {
		return
	}
	if _, err := git(t, nil, "fetch", "--quiet", "--no-tags", "--depth=1", "origin", r.commit); err != nil {
		t.Fatalf("this clone lacks %s, the commit of %s, and cannot fetch it (%v): run the tests in a clone with history, or run "+
			"`git fetch origin %s` where the server is reached", r.commit, r.tag, err, r.commit)
	}
}

// tree writes the files of a release into a directory, and does not change the checkout or its index.
func (r release) tree(t *testing.T, dir string) {
	t.Helper()
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")}
	for _, args := range [][]string{{"read-tree", r.commit}, {"checkout-index", "--all", "--prefix=" + dir + "/"}} {
		if _, err := git(t, index, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// program returns the path of the program shop, built with a release of Pawl. The build takes a minute, so the program is kept in the cache of the user.
func (r release) program(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("testdata/shop/main.go")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(source, r.commit+runtime.Version()...))
	dir := filepath.Join(cache, "pawl", "releases")
	path := filepath.Join(dir, r.tag+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	tree := t.TempDir()
	r.tree(t, tree)
	place := filepath.Join(tree, "cmd", "shop")
	if err := os.MkdirAll(place, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "main.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	building := filepath.Join(dir, fmt.Sprintf("building-%d", os.Getpid()))
	defer os.Remove(building)
	build(t, tree, building, "./cmd/shop")
	if err := os.Rename(building, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func build(t *testing.T, dir, output, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", output, what)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s in %s: %v: %s", what, dir, err, text)
	}
}

// TestHistoriesOfReleases (DU-10): the checkout has every recorded history of every release, unchanged. The test compares with the commits of the releases,
// because the list in workflows/testdata/frozen.txt could be edited together with a history.
func TestHistoriesOfReleases(t *testing.T) {
	needFlag(t)
	const dir = "workflows/testdata/history"
	for _, r := range releases(t) {
		r.need(t)
		listed, err := git(t, nil, "ls-tree", "-r", r.commit, dir)
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		for line := range strings.Lines(listed) {
			fields := strings.Fields(line) // mode, type, blob, path
			files++
			now, err := git(t, nil, "hash-object", "--no-filters", fields[3])
			if err != nil || strings.TrimSpace(now) != fields[2] {
				t.Errorf("%s is not as %s has released it (%v): restore it with `git checkout %s -- %s`", fields[3], r.tag, err, r.commit, fields[3])
			}
		}
		if files < 75 {
			t.Errorf("%s has %d histories", r.tag, files)
		}
	}
}
