package docsgen

import (
	"fmt"
	"go/importer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

var (
	quotedSymbol = regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z0-9]*)[^`]*`")
	quotedPath   = regexp.MustCompile("`([a-z]+/[A-Za-z0-9_./-]+)`")
	// ofTest is behind the path of a package in the name of a test. The test of invariants.md looks
	// for the tests.
	ofTest = regexp.MustCompile(`\.(Test|Fuzz)[A-Z].*|/\.\.\.$`)
)

// TestNamesOfPagesExist: each quoted symbol of a package that users import, and each quoted path
// below a directory of the repository, exists.
func TestNamesOfPagesExist(t *testing.T) {
	t.Parallel()
	missing, seen := missingNames(t, pagetest.Handbook(t, root))
	for _, name := range missing {
		t.Error(name)
	}
	if seen < 300 {
		t.Errorf("%d names: some are not found", seen)
	}
}

// TestMissingNames: a symbol and a path that do not exist are found. Names of other packages are not
// looked at.
func TestMissingNames(t *testing.T) {
	t.Parallel()
	text := "`schema.Declare`, `jsonschema.Declare(doc)`, `hook.WillAuthorize.Do`, `time.Nothing`, `call.Context`, `pawltest.Call`\n" +
		"`toolspec/schema/testdata/refusals.txt`, `toolspec/...`, `internal/arch.TestArchitecture/ranks`, `mytool/main.go`"
	missing, _ := missingNames(t, []pagetest.Page{{Path: "docs/a.md", Text: text}})
	want := "docs/a.md: there is no schema.Declare\ndocs/a.md: there is no toolspec/schema/testdata/refusals.txt"
	if got := strings.Join(missing, "\n"); got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
}

// missingNames returns the names of pages that do not exist, and how many names it looked at.
func missingNames(t *testing.T, pages []pagetest.Page) (missing []string, seen int) {
	t.Helper()
	packages, files := importPaths(t), token.NewFileSet()
	packages["pawltest"] = module + "/pawltest"
	c := &checker{root: root, files: files, standard: importer.ForCompiler(files, "source", nil), seen: map[string]*checked{}}
	look := func(page pagetest.Page, name string, exists bool) {
		if seen++; !exists {
			missing = append(missing, fmt.Sprintf("%s: there is no %s", page.Path, name))
		}
	}
	for _, page := range pages {
		prose := pagetest.Prose(page.Text)
		for _, m := range quotedSymbol.FindAllStringSubmatch(prose, -1) {
			if below, ours := strings.CutPrefix(packages[m[1]], module+"/"); ours && !ofTest.MatchString("."+m[2]) {
				p, err := c.check(below)
				if err != nil {
					t.Fatal(err)
				}
				look(page, m[1]+"."+m[2], p.types.Scope().Lookup(m[2]) != nil)
			}
		}
		for _, m := range quotedPath.FindAllStringSubmatch(prose, -1) {
			name := ofTest.ReplaceAllString(m[1], "")
			first, _, _ := strings.Cut(name, "/")
			if info, err := os.Stat(filepath.Join(root, first)); err != nil || !info.IsDir() || strings.Contains(name, "NNNN") {
				continue
			}
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
			look(page, name, err == nil)
		}
	}
	return missing, seen
}
