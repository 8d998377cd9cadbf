package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func of(tenant, run string) toolspec.Context { return toolspec.Context{TenantID: tenant, RunID: run} }

func openAll(t *testing.T, path string) *Workspaces {
	t.Helper()
	all, err := OpenAll(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.Close() })
	return all
}

// Ids that differ have workspaces that differ, and none has the directory of another, or of nobody.
func TestWorkspacesApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := openAll(t, dir+"/{tenant}/{run}")
	ids := []string{"acme", "Acme", "ACME", "a.b", "a", "..", ".", "...", ".a", "a.", "a=41", "-", "=41", "con", strings.Repeat("A", 64)}
	folded := map[string]string{}
	for _, tenant := range ids {
		name := strings.ToLower(dirName(tenant))
		if other, taken := folded[name]; taken || name != dirName(tenant) || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
			t.Errorf("%q has the directory %q, and so has %q", tenant, name, other)
		}
		folded[name] = tenant
		for _, run := range []string{"r1", "R1", ".."} {
			if err := all.For(of(tenant, run)).Replace(t.Context(), "file", []byte(tenant+"/"+run), capability.ReplaceOptions{}); err != nil {
				t.Fatal(tenant, run, err)
			}
		}
	}
	for _, tenant := range ids {
		for _, run := range []string{"r1", "R1", ".."} {
			path := filepath.Join(dir, dirName(tenant), dirName(run))
			if got, err := os.ReadFile(filepath.Join(path, "file")); err != nil || string(got) != tenant+"/"+run {
				t.Errorf("%s/%s holds %q, %v", tenant, run, got, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	for _, c := range []toolspec.Context{of("", "r"), of("acme", "")} {
		if _, err := all.For(c).List(t.Context(), ".", 1); !errors.Is(err, capability.ErrBadPath) {
			t.Errorf("without an id: %v", err)
		}
	}
}

// A tenant reaches nothing of another: by no path, by no link in its workspace, and by no link that
// somebody puts in the place of its directory.
func TestWorkspacesConfine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := openAll(t, dir+"/{tenant}")
	mine, others := all.For(of("mine", "r")), all.For(of("others", "r"))
	if err := others.Replace(t.Context(), "secret", []byte("x"), capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := mine.Replace(t.Context(), "file", []byte("x"), capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.Symlink("../others", filepath.Join(dir, "mine", "dir")), os.Symlink("../others/secret", filepath.Join(dir, "mine", "link")),
		os.Symlink(filepath.Join(dir, "others"), filepath.Join(dir, "mine", "abs")), os.Symlink("others", filepath.Join(dir, "linked")),
	); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../others/secret", "dir/secret", "link", "abs/secret", "dir/../../others/secret", "/proc/self/root" + dir + "/others/secret"} {
		if _, _, err := mine.Open(t.Context(), path, 10); !errors.Is(err, capability.ErrOutside) && !errors.Is(err, capability.ErrNotExist) {
			t.Errorf("open %s: %v", path, err)
		}
		if err := mine.Replace(t.Context(), path, []byte("y"), capability.ReplaceOptions{CreateDirs: true}); err == nil {
			t.Errorf("replace %s: it works", path)
		}
		if err := mine.Remove(t.Context(), path, capability.RemoveOptions{}); err == nil && path != "link" {
			t.Errorf("remove %s: it works", path)
		}
	}
	linked := all.For(of("linked", "r"))
	if _, _, err := linked.Open(t.Context(), "secret", 10); !errors.Is(err, capability.ErrNotDir) {
		t.Errorf("a link in the place of a workspace: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "others", "secret")); err != nil || string(got) != "x" {
		t.Errorf("the secret is %q, %v", got, err)
	}
}

// A directory that an operator deletes, or replaces, is no longer the workspace, and is not held open.
func TestWorkspacesAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := openAll(t, dir+"/{tenant}/{run}")
	workspace, path := all.For(of("acme", "r")), filepath.Join(dir, "acme", "r")
	for what, lose := range map[string]func() error{
		"deleted":             func() error { return os.RemoveAll(path) },
		"deleted with tenant": func() error { return os.RemoveAll(filepath.Dir(path)) },
		"replaced":            func() error { return errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)) },
		"moved":               func() error { return os.Rename(path, filepath.Join(dir, "old")) },
	} {
		if err := workspace.Replace(t.Context(), "old", []byte("x"), capability.ReplaceOptions{}); err != nil {
			t.Fatal(what, err)
		}
		held, release, err := all.acquire([]string{"acme", "r"})
		if err != nil {
			t.Fatal(err)
		}
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		if err := workspace.Replace(t.Context(), "new", []byte("x"), capability.ReplaceOptions{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if found, err := os.ReadDir(path); err != nil || len(found) != 1 || found[0].Name() != "new" {
			t.Errorf("%s: the workspace holds %v, %v", what, found, err)
		}
		if _, err := held.root.Stat("."); err != nil {
			t.Errorf("%s: an operation loses its directory: %v", what, err)
		}
		release()
		if _, err := held.root.Stat("."); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: the old directory is held: %v", what, err)
		}
	}
}

// Only so many workspaces are open, also while many calls use them at once.
func TestWorkspacesAreClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := openAll(t, dir+"/{tenant}")
	descriptors := func() int {
		found, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no list of open files here")
		}
		n := 0
		for _, f := range found {
			if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.HasPrefix(to, dir+"/") {
				n++
			}
		}
		return n
	}
	var calls sync.WaitGroup
	for worker := range 4 {
		calls.Go(func() {
			for i := range maxOpen {
				for range 2 {
					name := fmt.Sprintf("t%d", (i*3+worker*100)%(2*maxOpen))
					if _, err := all.For(of(name, "r")).Stat(t.Context(), "file"); !errors.Is(err, capability.ErrNotExist) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		})
	}
	calls.Wait()
	if n := descriptors(); n == 0 || n > maxOpen {
		t.Errorf("%d workspaces are open, of at most %d", n, maxOpen)
	}
}

func TestWorkspacesTemplate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, bad := range []string{"/{run}", "/{run}/{tenant}", "/{tenant}/{tenant}", "/x-{tenant}", "/{Tenant}", "/{tenant}/../x", "/{tenant}//x", "/{tenant", "/{actor}"} {
		if _, err := OpenAll(dir + bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if _, err := OpenAll(dir + "/missing/{tenant}"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	one := openAll(t, dir)
	if one.For(of("a", "r")) != one.For(of("b", "r")) {
		t.Error("one directory is two workspaces")
	}
	if err := openAll(t, dir+"/{tenant}/files/{run}/").For(of("a", "r")).Replace(t.Context(), "f", nil, capability.ReplaceOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "files", "r", "f")); err != nil {
		t.Error(err)
	}
}
