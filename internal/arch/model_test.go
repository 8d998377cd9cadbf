package arch_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const module = "github.com/pawl-run/pawl"

// tree is the source code that the rules check: the repository, or an archive of a test.
type tree struct {
	fset     *token.FileSet
	packages []*pkg
	// calls are the uses of functions of this module, by full name. They need types, so
	// only withCalls and typeCheck set them.
	calls []call
	// pages are the Markdown files.
	pages []markdown
}

// markdown is a Markdown file. Its path is relative to the module.
type markdown struct{ path, text string }

// pkg is one folder. Its path is relative to the module; the root's is ".".
type pkg struct {
	path  string
	files []*file
}

type file struct {
	path      string
	syntax    *ast.File
	test      bool
	generated bool
}

// call is one use of a function or method.
type call struct {
	pkg, symbol string
	// on is the named type that a method is taken from: an embedded method has
	// the symbol of its own type.
	on string
	at token.Pos
}

// violation is one broken rule at one place.
type violation struct {
	at  string // path:line, or a folder
	why string
}

func (v violation) String() string { return v.at + ": " + v.why }

// rule is one rule of the tree: its name, and the function that finds violations.
type rule struct {
	name  string
	check func(*tree) []violation
}

// name is the declared package name, without the _test of external tests.
func (p *pkg) name() string {
	for _, f := range p.files {
		if !f.test {
			return f.syntax.Name.Name
		}
	}
	return ""
}

// code returns the files that ship.
func (p *pkg) code() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return f.test })
}

// texts yields the literal texts of the files that ship, with their positions.
func (p *pkg) texts() iter.Seq2[token.Pos, string] {
	return func(yield func(token.Pos, string) bool) {
		for _, f := range p.code() {
			for n := range ast.Preorder(f.syntax) {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				if text, err := strconv.Unquote(lit.Value); err == nil && !yield(lit.Pos(), text) {
					return
				}
			}
		}
	}
}

// support reports whether the package exists only to help tests, such as
// postgrestest. Such packages have no rank, and the rule test-support keeps them
// out of programs.
func (p *pkg) support() bool { return supports(p.path) }

func supports(pkgPath string) bool { return strings.HasSuffix(path.Base(pkgPath), "test") }

// shipped returns the packages that are part of the program.
func (t *tree) shipped() []*pkg {
	return slices.DeleteFunc(slices.Clone(t.packages), func(p *pkg) bool { return p.support() || len(p.code()) == 0 })
}

func (t *tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// add parses one Go file into its package, or keeps a page.
func (t *tree) add(name string, src []byte) error {
	if path.Ext(name) == ".md" {
		t.pages = append(t.pages, markdown{name, string(src)})
		return nil
	}
	syntax, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	i := slices.IndexFunc(t.packages, func(p *pkg) bool { return p.path == dir })
	if i < 0 {
		i = len(t.packages)
		t.packages = append(t.packages, &pkg{path: dir})
	}
	t.packages[i].files = append(t.packages[i].files, &file{
		path:      name,
		syntax:    syntax,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(syntax),
	})
	return nil
}

// repository reads every Go file and page of this module, with any build tags: a rule
// must hold on all platforms.
func repository(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name)
		}
		if ext := filepath.Ext(name); ext != ".go" && ext != ".md" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return tr.add(filepath.ToSlash(name), src)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// enter returns fs.SkipDir for a directory that the go command skips, and for another module.
func enter(dir string) error {
	if dir == "." {
		return nil
	}
	base := filepath.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// planted reads a tree from an archive, for the tests of the rules.
func planted(t *testing.T, archive *txtar.Archive) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	for _, f := range archive.Files {
		if ext := path.Ext(f.Name); ext != ".go" && ext != ".md" {
			continue
		}
		if err := tr.add(f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// eachImport yields the imports of the files, by path and place.
func (t *tree) eachImport(files []*file, yield func(f *file, spec *ast.ImportSpec, imported string)) {
	for _, f := range files {
		for _, spec := range f.syntax.Imports {
			yield(f, spec, strings.Trim(spec.Path.Value, "`\""))
		}
	}
}

// ours returns an import path relative to the module.
func ours(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard reports whether an import is of the standard library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// within reports whether a path is one of the roots or below one.
func within(p string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/")
	})
}
