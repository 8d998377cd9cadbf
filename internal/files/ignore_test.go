package files_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// ignored is a tree with ignore files in many forms.
var ignored = map[string]string{
	".gitignore": "\ufeff# comment\n\n*.log\r\n!keep.log\n/build\nout/\n\\#hash\n\\!bang\ntrail   \nspace\\ \nfoo/**\n!foo/keep\ndocs/*.tmp\n**/deep/x\na/**/z\n" +
		"[ab].cls\n[!ab].neg\n{brace}\nq?.md\n**/any\ntarget/**/\n[bad\nback\\\n*.min.*\nsub/only.txt\n",
	"a.log": "", "keep.log": "", "build/x": "", "sub/build/x": "", "out/x": "", "sub/out/x": "", "sub/outfile": "", "#hash": "", "!bang": "",
	//nolint:gocritic // a name that ends with a space
	"trail": "", "space ": "", "foo/keep": "", "foo/gone": "", "foo/d/gone": "", "docs/x.tmp": "", "docs/d/x.tmp": "", "p/deep/x": "", "deep/x": "",
	"a/z": "", "a/b/c/z": "", "b/a/z": "", "a.cls": "", "c.cls": "", "a.neg": "", "c.neg": "", "{brace}": "", "brace": "", "q1.md": "", "q.md": "",
	"r/any": "", "any": "", "[bad": "", `back\`: "", "x.min.js": "", "sub/only.txt": "", "sub/sub/only.txt": "", "target/d/x": "", "target/y": "",
	"sub/.gitignore": "!a.log\n*.txt\n/anchored\n", "sub/a.log": "", "sub/b.log": "", "sub/t.txt": "", "sub/anchored": "", "sub/in/anchored": "",
	"sub/in/.gitignore": "!t.txt\n", "sub/in/t.txt": "", "sub/in/u.txt": "",
	"dir.log/inside": "", ".hidden": "", ".config/x": "",
}

// TestIgnoreFilesAsGit: what a walk leaves out is what git does.
func TestIgnoreFilesAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	w, dir := open(t)
	for path, content := range ignored {
		write(t, filepath.Join(dir, path), content)
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false", "ls-files", "-z", "--others", "--exclude-standard"}} {
		if args[0] != "init" {
			write(t, filepath.Join(dir, ".git", "info", "exclude"), "/q.md\n!sub/b.log\n")
		}
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if args[0] == "init" {
			continue
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(want)
		got, err := walk(t, w, ".", capability.WalkOptions{Ignore: true, SkipDirs: []string{".git"}})
		if err != nil || got != strings.Join(want, " ") {
			t.Errorf("the walk visits\n%s, %v\ngit lists\n%s", got, err, strings.Join(want, " "))
		}
		if len(want) < 20 || len(want) > len(ignored)-15 {
			t.Errorf("git lists %d of %d files: the tree says little", len(want), len(ignored))
		}
	}
}

func TestIgnoreFiles(t *testing.T) {
	w, dir := open(t)
	for path, content := range map[string]string{
		".gitignore": "*.a\n*.b\n", ".ignore": "!x.b\n*.c\n", "x.a": "", "x.b": "", "x.c": "",
		"sub/x.a": "", "sub/x.b": "", "sub/.gitignore": "!x.a\n*.d\nx.b\n", "sub/x.d": "", "sub/deep/x.d": "", "sub/deep/x.a": "",
		"nested/.git/info/exclude": "*.e\n", "nested/x.a": "", "nested/x.c": "", "nested/x.e": "", "nested/in/x.e": "",
		"vendor/x.a": "", "vendor/y": "",
	} {
		write(t, filepath.Join(dir, path), content)
	}
	opts := capability.WalkOptions{Ignore: true, SkipDirs: []string{".git"}}
	for _, c := range []struct{ dir, want string }{
		// .ignore wins over .gitignore; a repository below has its own rules of git.
		{".", ".gitignore .ignore nested/x.a sub/.gitignore sub/deep/x.a sub/x.a sub/x.b vendor/y x.b"},
		// The rules of the directories above hold, but for the directory itself.
		{"sub", "sub/.gitignore sub/deep/x.a sub/x.a sub/x.b"},
		{"sub/deep", "sub/deep/x.a"},
		{"nested/in", ""},
		{"x.a", "x.a"},
	} {
		if got, err := walk(t, w, c.dir, opts); err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.dir, got, err, c.want)
		}
	}
	if got, err := walk(t, w, "sub/deep", capability.WalkOptions{}); err != nil || got != "sub/deep/x.a sub/deep/x.d" {
		t.Errorf("without ignore files: %s, %v", got, err)
	}
	// Rules are no way out: a link to an ignore file outside is not read.
	if err := os.Remove(filepath.Join(dir, ".ignore")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(dir), "outside", "rules"), "*\n")
	link(t, "../outside/rules", filepath.Join(dir, ".ignore"))
	if got, err := walk(t, w, "vendor", opts); err != nil || got != "vendor/y" {
		t.Errorf("with a link to rules: %s, %v", got, err)
	}
	// Rules beyond the bound of an ignore file do not count.
	write(t, filepath.Join(dir, "vendor", ".gitignore"), "#"+strings.Repeat("x", capability.MaxIgnoreFile-1)+"\ny\n")
	if got, err := walk(t, w, "vendor", opts); err != nil || got != "vendor/.gitignore vendor/y" {
		t.Errorf("with a large ignore file: %s, %v", got, err)
	}
}

// TestIgnoreRulesAreBounded: the rules of the last directory of a walk count too.
func TestIgnoreRulesAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules, above int // in the directory of the walk, and above it
		want         error
	}{
		{capability.MaxIgnoreRules, 0, nil},
		{capability.MaxIgnoreRules + 1, 0, capability.ErrIgnoreRules},
		{capability.MaxIgnoreRules, 1, capability.ErrIgnoreRules},
		{0, capability.MaxIgnoreRules + 1, capability.ErrIgnoreRules},
	} {
		w, dir := open(t)
		write(t, filepath.Join(dir, ".ignore"), strings.Repeat("a\n", c.above))
		write(t, filepath.Join(dir, "d", ".ignore"), strings.Repeat("a\n", c.rules))
		write(t, filepath.Join(dir, "d", "f"), "")
		for _, start := range []string{".", "d"} {
			if got, err := walk(t, w, start, capability.WalkOptions{Ignore: true, Include: "f"}); !errors.Is(err, c.want) || err == nil && got != "d/f" {
				t.Errorf("%+v: the walk of %s visits %q, %v", c, start, got, err)
			}
		}
	}
}
