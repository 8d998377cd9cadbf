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

// carriers are the packages whose types are stored in histories, memos and rows: no field of
// these types may have the name of a credential (NO_SECRETS_IN_CONTEXT).
var carriers = []string{"toolspec", "toolspec/hook", "policy", "policy/document", "workflows"}

// composers are the trees that may read the environment: the composition root, the commands and the servers for development.
var composers = []string{"worker", "internal/cli", "internal/devcli", "internal/devstate", "internal/devstack", "internal/faultkit/faultworker", "cmd"}

func contextsHoldNoSecrets(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if !slices.Contains(carriers, p.path) {
			continue
		}
		// Without these imports, no field can have a type with a credential.
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

// secretField returns the name of a field, in Go or in JSON, if it is the name of a secret,
// or else "". A number or a flag is no secret: maxTokens is a budget.
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

// endings returns the endings of a camel-case name that begin with a word: HubToken and
// Token for gitHubToken.
func endings(name string) (ends []string) {
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			ends = append(ends, name[i:])
		}
	}
	return ends
}

// environmentEntersAtTheTop: only the composition root reads environment variables, so that
// no variable changes another package, or puts a secret into it, unseen
// (CAPABILITY_OWNS_SECRETS).
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
