package docsgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

// module is the path of the module.
const module = "github.com/pawl-run/pawl"

// compile type-checks blocks of Go, each as a package of its own, and returns the
// mistakes of each. The packages exist in the overlay of one load only.
func compile(t *testing.T, blocks []pagetest.Block) [][]string {
	t.Helper()
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	config := packages.Config{
		Context: t.Context(), Dir: absolute, Overlay: map[string][]byte{},
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedExportFile,
	}
	names := importPaths(t)
	mistakes, patterns, places := make([][]string, len(blocks)), []string{}, map[string]int{}
	for i, block := range blocks {
		dir := path.Join("internal", "docsgen", fmt.Sprintf("block%d", i))
		files, err := snippet(block, names)
		if err != nil {
			mistakes[i] = []string{err.Error()}
			continue
		}
		for name, text := range files {
			config.Overlay[filepath.Join(absolute, filepath.FromSlash(dir), name)] = []byte(text)
		}
		patterns = append(patterns, "./"+dir)
		places[path.Join(module, dir)] = i
	}
	loaded, err := packages.Load(&config, patterns...)
	if err != nil || len(loaded) != len(patterns) {
		t.Fatalf("%d packages of %d: %v", len(loaded), len(patterns), err)
	}
	for _, p := range loaded {
		block := blocks[places[p.PkgPath]]
		// The compiler takes the names of the pages for files beside the block's.
		dir := filepath.Join(absolute, filepath.FromSlash(strings.TrimPrefix(p.PkgPath, module+"/"))) + string(filepath.Separator)
		for _, mistake := range mistakesOf(p, strings.HasPrefix(block.Text, "package ")) {
			i := places[p.PkgPath]
			mistakes[i] = append(mistakes[i], strings.TrimPrefix(mistake, dir))
		}
	}
	return mistakes
}

// mistakesOf returns what is wrong with a package. If the block is not a whole file, it may leave
// variables unused.
func mistakesOf(p *packages.Package, whole bool) (mistakes []string) {
	for _, e := range p.TypeErrors {
		if whole || !e.Soft {
			mistakes = append(mistakes, fmt.Sprintf("%s: %s", e.Fset.Position(e.Pos), e.Msg))
		}
	}
	for _, e := range p.Errors {
		if e.Kind == packages.ParseError {
			mistakes = append(mistakes, e.Error())
		}
	}
	for imported := range p.Imports {
		if strings.HasPrefix(imported, module+"/") && slices.Contains(strings.Split(imported, "/"), "internal") {
			mistakes = append(mistakes, "a user cannot import "+imported)
		}
	}
	return mistakes
}

// snippet writes the files of the package that a block is: the block itself, and
// what the comment in front of it declares.
func snippet(b pagetest.Block, names map[string]string) (files map[string]string, err error) {
	setup, err := parseSource(b.Setup)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: the comment in front of the block: %w", b.Page, b.SetupLine, err)
	}
	known := maps.Clone(names)
	declared := map[string]bool{}
	for _, spec := range setup.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		known[name] = imported
	}
	for name := range setup.Scope.Objects {
		declared[name] = true
	}
	text := b.Text
	if !strings.HasPrefix(text, "package ") {
		parsed, err := parseSource(text)
		if err != nil {
			text = "func _(ctx context.Context) error {\n" + directive(b.Page, b.Line) + text + "panic(0)\n}\n"
			if parsed, err = parseSource(text); err != nil {
				return nil, fmt.Errorf("%s: %w", b, err)
			}
		}
		text = "package main\n" + importsOf(unresolved(parsed), known, declared) + directive(b.Page, b.Line) + text
	} else {
		text = directive(b.Page, b.Line) + text
	}
	files = map[string]string{"block.go": text}
	if b.Setup != "" {
		// Each file needs imports of its own.
		rest := afterImports(setup, b.Setup)
		line := b.SetupLine + strings.Count(b.Setup, "\n") - strings.Count(rest, "\n")
		files["setup.go"] = "package main\n" + importsOf(unresolved(setup), known, declared) + directive(b.Page, line) + rest
	}
	return files, nil
}

// afterImports returns the declarations behind the imports of text, which parseSource parsed.
func afterImports(parsed *ast.File, text string) string {
	end := 0
	for _, d := range parsed.Decls {
		if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.IMPORT {
			end = int(group.End()-parsed.FileStart) - len(packageLine)
		}
	}
	return strings.TrimLeft(text[end:], "\n")
}

// packageLine stands in front of declarations that are parsed.
const packageLine = "package main\n"

// directive has the compiler report places of the page. A column is that of the page.
func directive(page string, line int) string { return fmt.Sprintf("//line %s:%d:1\n", page, line) }

// parseSource parses declarations, with the objects that they declare.
func parseSource(text string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", packageLine+text, parser.ParseComments)
}

func unresolved(f *ast.File) (names []string) {
	for _, ident := range f.Unresolved {
		names = append(names, ident.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// importsOf imports the packages among the names that a file does not declare.
func importsOf(used []string, known map[string]string, declared map[string]bool) string {
	var b strings.Builder
	for _, name := range used {
		if imported, ok := known[name]; ok && !declared[name] {
			fmt.Fprintf(&b, "import %s %q\n", name, imported)
		}
	}
	return b.String()
}

// importPaths finds the packages that a block may name without an import: those of
// users, and the standard library's that have the name to themselves.
func importPaths(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{
		"bytes": "bytes", "context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "io": "io", "json": "encoding/json", "url": "net/url",
		"log": "log", "os": "os", "slices": "slices", "slog": "log/slog", "strings": "strings", "time": "time",
	}
	theirs := func(name string) bool {
		return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "test") &&
			!slices.Contains([]string{"activities", "cmd", "docs", "examples", "internal", "kms", "migrations", "testdata", "workflows"}, name)
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == root {
			return err
		}
		if !theirs(d.Name()) {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "doc.go")); err == nil {
			below, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			imported := path.Join(module, filepath.ToSlash(below))
			if other, taken := names[d.Name()]; taken {
				return fmt.Errorf("%s and %s have one name: let the blocks import them", imported, other)
			}
			names[d.Name()] = imported
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
