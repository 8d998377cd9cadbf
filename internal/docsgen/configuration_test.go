package docsgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	variable = regexp.MustCompile(`^(PAWL_[A-Z0-9_]*[A-Z0-9]|DATABASE_URL|XDG_CACHE_HOME)$`)
	// variableCell is the first cell of a row that describes variables of Pawl.
	variableCell = regexp.MustCompile("(?m)^\\| (`[A-Z][A-Z0-9_]+`) \\|[^|]+\\|[^|]+\\|$")
)

// TestConfigurationListsEveryVariable: docs/configuration.md has a row for each variable that
// the code of programs names, and for no other.
func TestConfigurationListsEveryVariable(t *testing.T) {
	t.Parallel()
	programs, listed := variablesOfPrograms(t), map[string]bool{}
	for _, row := range variableCell.FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		name := strings.Trim(row[1], "`")
		if listed[name] {
			t.Errorf("docs/configuration.md lists %s twice", name)
		}
		listed[name] = true
		if programs[name] == "" {
			t.Errorf("docs/configuration.md lists %s, which no program reads", name)
		}
	}
	for name, where := range programs {
		if !listed[name] {
			t.Errorf("docs/configuration.md lacks %s, which %s reads", name, where)
		}
	}
	if len(programs) < 30 {
		t.Errorf("%d variables: some are not found", len(programs))
	}
}

// variablesOfPrograms returns the variables that the code of programs for users names, each with
// a file that names it.
func variablesOfPrograms(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	tests := []string{"testdata", "arch", "attack", "docsgen", "e2etest", "faultkit", "wiretest", "devtools"}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains(tests, d.Name()) || strings.HasSuffix(d.Name(), "test") || strings.HasPrefix(d.Name(), ".") && name != root {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && variable.MatchString(text) {
					names[text] = name
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
