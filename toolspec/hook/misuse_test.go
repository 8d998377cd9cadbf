package hook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// imported has the packages that snippets may import, by path.
type imported map[string]*types.Package

func (m imported) Import(path string) (*types.Package, error) { return m[path], nil }

func loadImports(t *testing.T) imported {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports, Context: t.Context()},
		"context", "time", "github.com/pawl-run/pawl/toolspec/hook")
	if err != nil {
		t.Fatal(err)
	}
	m := imported{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		m[p.PkgPath] = p.Types
	}
	return m
}

// TestMisuseDoesNotCompile type-checks each snippet of testdata/misuse. A snippet is a hook that calls
// a method that its stage does not allow. Each snippet has a legal variant that must compile, so that
// the snippet fails because of this method alone.
func TestMisuseDoesNotCompile(t *testing.T) {
	files, err := filepath.Glob("testdata/misuse/*.go.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d snippets (%v)", len(files), err)
	}
	imports := loadImports(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go.txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range txtar.Parse(text).Files {
				parts[f.Name] = string(f.Data)
			}
			want := strings.TrimSpace(parts["want"])
			if want == "" || parts["misuse.go"] == "" || parts["legal.go"] == "" {
				t.Fatal("a snippet has three files: want, misuse.go, legal.go")
			}
			if got := check(t, imports, parts["legal.go"]); got != "" {
				t.Errorf("the legal variant does not compile: %s", got)
			}
			switch got := check(t, imports, parts["misuse.go"]); {
			case got == "":
				t.Error("the misuse compiles")
			case !strings.Contains(got, want):
				t.Errorf("the misuse fails with %q, want %q", got, want)
			}
		})
	}
}

// check returns the first error of the type checker.
func check(t *testing.T, imports imported, text string) string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "snippet.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var first string
	config := types.Config{Importer: imports, Error: func(err error) {
		if first == "" {
			first = err.Error()
		}
	}}
	if _, err := config.Check("snippet", fset, []*ast.File{f}, nil); err != nil && first == "" {
		first = err.Error()
	}
	return first
}
