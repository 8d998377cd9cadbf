package arch_test

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/toolspec"
)

// carriers hold the types that travel in histories, memos and rows: no field of
// theirs may be shaped like a credential (NO_SECRETS_IN_CONTEXT).
var carriers = []string{"toolspec", "toolspec/hook", "policy", "policy/document", "workflows"}

// composers may read the environment: the composition root and the doors.
var composers = []string{"worker", "internal/cli", "internal/devcli", "internal/devstate", "internal/devstack", "internal/faultkit/faultworker", "cmd"}

func contextsHoldNoSecrets(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if !slices.Contains(carriers, p.path) {
			continue
		}
		// What they do not know they cannot have a field of.
		t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
			if target, ok := ours(imported); ok && within(target, "toolspec/capability", "broker") {
				found = append(found, violation{t.at(spec.Pos()), p.path + " may not import " + target + ": a credential could cross with its types"})
			}
		})
		for _, f := range p.code() {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				s, ok := n.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range s.Fields.List {
					if name := secretField(field); name != "" {
						found = append(found, violation{t.at(field.Pos()), fmt.Sprintf("field %s has the name of a secret: pass an opaque reference such as connectionId", name)})
					}
				}
				return true
			})
		}
	}
	return found
}

// secretField returns the name, in Go or in JSON, that a secret would have. A
// number or a flag holds none: maxTokens is a budget.
func secretField(field *ast.Field) string {
	if kind, ok := field.Type.(*ast.Ident); ok && (kind.Name == "bool" || strings.Contains(kind.Name, "int")) {
		return ""
	}
	var names []string
	for _, n := range field.Names {
		names = append(names, n.Name)
	}
	if field.Tag != nil {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		names = append(names, name)
	}
	for _, name := range names {
		if toolspec.SecretName(name) || slices.ContainsFunc(endings(name), toolspec.SecretName) {
			return name
		}
	}
	return ""
}

// endings returns what a camel-case name ends in, word by word: gitHubToken ends
// in Token.
func endings(name string) (ends []string) {
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			ends = append(ends, name[i:])
		}
	}
	return ends
}

// environmentEntersAtTheTop: configuration and secrets come in through the
// composition root, so nothing below can be steered, or leak, by a variable
// nobody sees (CAPABILITY_OWNS_SECRETS).
func environmentEntersAtTheTop(t *tree) (found []violation) {
	readers := map[string][]string{
		"os":      {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
		"syscall": {"Getenv", "Environ"},
	}
	for _, p := range t.shipped() {
		if within(p.path, composers...) {
			continue
		}
		for _, f := range p.code() {
			names := map[string]string{} // local name → import path
			t.eachImport([]*file{f}, func(_ *file, spec *ast.ImportSpec, imported string) {
				local := imported
				if spec.Name != nil {
					local = spec.Name.Name
				}
				if readers[imported] != nil {
					names[local] = imported
				}
			})
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(readers[names[x.Name]], sel.Sel.Name) {
					found = append(found, violation{t.at(sel.Pos()), fmt.Sprintf("%s reads the environment: take the value as a parameter", p.path)})
				}
				return true
			})
		}
	}
	return found
}
