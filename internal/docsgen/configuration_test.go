package docsgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/worker"
)

var (
	variable = regexp.MustCompile(`^(PAWL_[A-Z0-9_]*[A-Z0-9]|DATABASE_URL|XDG_CACHE_HOME)$`)
	// variableCell is the first cell of a row that describes variables of Pawl.
	variableCell = regexp.MustCompile("(?m)^\\| (`[A-Z][A-Z0-9_]+`) \\|([^|]+)\\| ([^|]+) \\|$")
	// numberRange is in the meaning of a variable.
	numberRange = regexp.MustCompile(`(\d+) to (\d+)`)
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

// TestConfigurationDefaults: the defaults and the ranges of docs/configuration.md are those of a
// worker. It does not run in parallel because it changes the environment.
func TestConfigurationDefaults(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); variable.MatchString(name) || strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // so that the worker finds no `pawl dev`
	c, err := worker.LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	level := slog.LevelDebug
	for !c.Log.Enabled(t.Context(), level) {
		level += slog.LevelInfo - slog.LevelDebug
	}
	either := func(first bool, name, other string) string {
		if first {
			return "`" + name + "`"
		}
		return "`" + other + "`"
	}
	defaults := map[string]string{
		"PAWL_DATABASE_CONNECTIONS": strconv.Itoa(c.Connections),
		"PAWL_SEARCH_ATTRIBUTES":    either(c.SearchAttributes, "on", "off"),
		"PAWL_LOG_LEVEL":            "`" + strings.ToLower(level.String()) + "`",
		"PAWL_CODEC_PLAIN":          either(c.Codec.RefusePlain, "refuse", "read"),
		"PAWL_NOTIFY_LOG":           either(c.Notify.Log, "on", "off"),
		"PAWL_SWEEP_EVERY":          "`" + strings.TrimSuffix(c.SweepEvery.String(), "0s") + "`",
		"PAWL_RETENTION":            strconv.Itoa(c.RetentionDays),
		"PAWL_OUTPUT_QUOTA":         strconv.FormatInt(c.OutputQuota, 10),
		"PAWL_OUTPUT_RETENTION":     strconv.Itoa(c.OutputDays),
		"PAWL_MODEL_REQUESTS":       strconv.Itoa(c.ModelRequests),
		"PAWL_VERIFY_EVERY":         either(c.VerifyEvery == 0, "off", c.VerifyEvery.String()),
	}
	ranges := 0
	for _, row := range variableCell.FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		name := strings.Trim(row[1], "`")
		if want, checked := defaults[name]; checked && row[3] != want {
			t.Errorf("%s: the page gives the default %s, the worker has %s", name, row[3], want)
		}
		if bounds := numberRange.FindStringSubmatch(row[2]); bounds != nil {
			ranges++
			checkRange(t, name, bounds[1], bounds[2])
		}
	}
	if ranges != 4 {
		t.Errorf("%d ranges of numbers, want 4", ranges)
	}
}

// checkRange checks that a worker takes both bounds of a variable, and nothing beyond them.
func checkRange(t *testing.T, name, least, limit string) {
	t.Helper()
	for _, bound := range []struct {
		text   string
		beyond int
	}{{least, -1}, {limit, 1}} {
		n, err := strconv.Atoi(bound.text)
		if err != nil {
			t.Fatal(err)
		}
		for value, taken := range map[int]bool{n: true, n + bound.beyond: false} {
			t.Setenv(name, strconv.Itoa(value))
			if _, err := worker.LoadConfig(); (err == nil) != taken {
				t.Errorf("%s=%d: %v", name, value, err)
			}
		}
	}
	t.Setenv(name, "")
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
