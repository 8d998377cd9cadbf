package arch_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// maxLines is the maximum number of lines of a file. A longer file holds more than one noun.
const maxLines = 400

// grabBags are names that do not describe what a package has.
var grabBags = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "types"}

// firstProcess is the only package that may have an init function. The sandbox starts its program again as the first process of its
// namespaces, and the main function of the program must not run then.
const firstProcess = "internal/sandbox"

// nothingHappensOnImport refuses init functions and blank imports: the import of a package
// must have no side effects.
func nothingHappensOnImport(t *tree) (found []violation) {
	for _, p := range t.packages {
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				if p.path == firstProcess {
					continue
				}
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					found = append(found, violation{t.at(fn.Pos()), "init() runs on import: make it a function that its user calls"})
				}
			}
		}
		if within(p.path, "cmd", "worker") {
			continue
		}
		t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
			// A file with go:embed must import embed, which has no side effects.
			if spec.Name != nil && spec.Name.Name == "_" && imported != "embed" {
				found = append(found, violation{t.at(spec.Pos()), "blank import of " + imported + ": only cmd and worker may"})
			}
		})
	}
	return found
}

func namesSaySomething(t *tree) (found []violation) {
	for _, p := range t.packages {
		for _, name := range []string{path.Base(p.path), p.name()} {
			if slices.Contains(grabBags, name) {
				found = append(found, violation{p.path, "a package named " + name + " collects everything: name it for what it holds"})
				break
			}
		}
	}
	return found
}

func filesAreShort(t *tree) (found []violation) {
	for _, p := range t.packages {
		for _, f := range p.code() {
			if lines := t.fset.File(f.syntax.FileStart).LineCount(); lines > maxLines && !f.generated {
				found = append(found, violation{f.path, fmt.Sprintf("has %d lines, more than %d: one noun per file", lines, maxLines)})
			}
		}
	}
	return found
}

// onePackageComment: doc.go says what the package is, what it must never do and
// which packages may import it. A package main may have this comment in main.go.
func onePackageComment(t *tree) (found []violation) {
	for _, p := range t.packages {
		if len(p.code()) == 0 {
			continue
		}
		home, documented := "doc.go", false
		if p.name() == "main" {
			home = "main.go"
		}
		for _, f := range p.code() {
			if strings.TrimSpace(f.syntax.Doc.Text()) == "" {
				continue
			}
			if base := path.Base(f.path); base != "doc.go" && base != home {
				found = append(found, violation{f.path, "holds a package comment: it belongs into " + home})
			}
			documented = true
		}
		if !documented {
			found = append(found, violation{p.path, "has no package comment: write it into " + home})
		}
	}
	return found
}
