package docsgen

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// logging are the trees whose lines a worker logs.
var logging = []string{"worker", "activities", "workflows", "broker", "provider", "toolspec", "policy", "internal"}

// noWorker are trees of programs for development, and of tests.
var noWorker = []string{
	"internal/devcli", "internal/devstack", "internal/devtools", "internal/devstate", "internal/bench", "internal/faultkit", "internal/attack", "internal/arch",
	"internal/docsgen", "internal/e2etest", "internal/modelserver", "internal/cli", "internal/schemadiff", "internal/openapicheck", "internal/wiretest",
}

var levels = map[string]string{
	"Debug": "debug", "Info": "info", "Warn": "warn", "Error": "error",
	"DebugContext": "debug", "InfoContext": "info", "WarnContext": "warn", "ErrorContext": "error",
}

// logLines is the table of the lines that a worker logs, with the names of their attributes.
func logLines(root string) (map[string]string, error) {
	attributes := map[[2]string][]string{}
	for _, tree := range logging {
		err := filepath.WalkDir(filepath.Join(root, tree), func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			below, err := filepath.Rel(root, dir)
			if err != nil {
				return err
			}
			below = filepath.ToSlash(below)
			if slices.Contains(noWorker, below) || entry.Name() == "testdata" || strings.HasSuffix(entry.Name(), "test") {
				return filepath.SkipDir
			}
			parsed, err := parsePackage(token.NewFileSet(), dir)
			for _, f := range parsed {
				ast.Inspect(f, func(n ast.Node) bool {
					if level, message, names, ok := logLine(n); ok {
						line := [2]string{message, level}
						attributes[line] = append(attributes[line], names...)
					}
					return true
				})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var rows [][]string
	for line, names := range attributes {
		slices.Sort(names)
		for i, name := range names {
			names[i] = code(name)
		}
		rows = append(rows, []string{strings.ReplaceAll(line[0], "|", `\|`), line[1], strings.Join(slices.Compact(names), ", ")})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	return map[string]string{"log lines": table([]string{"line", "level", "attributes"}, rows)}, nil
}

// logLine reads a call of a logger whose message is a constant text.
func logLine(n ast.Node) (level, message string, names []string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall {
		return "", "", nil, false
	}
	f, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod || levels[f.Sel.Name] == "" {
		return "", "", nil, false
	}
	args := call.Args
	if strings.HasSuffix(f.Sel.Name, "Context") && len(args) > 0 {
		args = args[1:]
	}
	if len(args) == 0 {
		return "", "", nil, false
	}
	if message, ok = constantText(args[0]); !ok {
		return "", "", nil, false
	}
	for i := 1; i < len(args); i += 2 {
		if name, ok := constantText(args[i]); ok {
			names = append(names, name)
		}
	}
	return levels[f.Sel.Name], message, names, true
}

// constantText returns the value of a literal.
func constantText(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}
