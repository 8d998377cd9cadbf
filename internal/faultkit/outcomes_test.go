package faultkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec"
)

// columns are the columns of the table in docs/outcomes.md, with their tools.
var columns = []struct{ name, toolID string }{
	{"local read", ledger.LocalRead},
	{"regular read", ledger.Read},
	{"idempotent write", ledger.Put},
	{"non-idempotent write", ledger.Send},
	{"asked write", ledger.Ask},
	{"fast write", ledger.Quick},
	{"fast idempotent write", ledger.QuickPut},
}

// cell is the expected end of a call.
type cell struct {
	point  point.Name
	column string
	toolID string
	// why is the reason for which the call does not reach the point. The other fields are then
	// empty.
	why string

	code, cause                         string
	leastEffects, mostEffects, attempts int
	claims, tombstones, epoch           int
}

var cellPattern = regexp.MustCompile(
	"^`([a-z_]+)`(?: \\(([a-z_]+)\\))?, (\\d+)(?:–(\\d+))? effects?, (\\d+) attempts?, (\\d+) claims?(?:, (\\d+) tombstones?)?, epoch (\\d+)$")

// outcomes parses the table of the page. Every point must have a row, and every column a cell.
func outcomes(page string) ([]cell, error) {
	heading := "| killed at |"
	for _, c := range columns {
		heading += " " + c.name + " |"
	}
	_, table, ok := strings.Cut(page, heading+"\n")
	if !ok {
		return nil, fmt.Errorf("there is no table with the heading %s", heading)
	}
	lines := strings.Split(table, "\n")
	points := point.All()
	if len(lines) < len(points)+2 || strings.HasPrefix(lines[len(points)+1], "|") {
		return nil, fmt.Errorf("the table has not one row for each of the points %v", points)
	}
	var cells []cell
	for i, p := range points {
		row := strings.Split(strings.TrimSuffix(strings.TrimPrefix(lines[i+1], "| "), " |"), " | ")
		if row[0] != "`"+string(p)+"`" || len(row) != len(columns)+1 {
			return nil, fmt.Errorf("row %d has %d cells and begins with %s; want %d and `%s`", i+1, len(row), row[0], len(columns)+1, p)
		}
		for j, column := range columns {
			c, err := readCell(row[j+1])
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", p, column.name, err)
			}
			c.point, c.column, c.toolID = p, column.name, column.toolID
			cells = append(cells, c)
		}
	}
	return cells, nil
}

func readCell(text string) (c cell, err error) {
	if why, ok := strings.CutPrefix(text, "– "); ok && strings.TrimSpace(why) != "" {
		return cell{why: why}, nil
	}
	m := cellPattern.FindStringSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("%q is neither an outcome nor a dash with a reason", text)
	}
	if c.code, c.cause = m[1], m[2]; c.code != "ok" && !slices.ContainsFunc(toolspec.Codes(), func(i toolspec.Info) bool { return string(i.Code) == c.code }) {
		return c, fmt.Errorf("there is no code %s", c.code)
	}
	numbers := make([]int, 6)
	for i, text := range m[3:] {
		if text == "" {
			continue
		}
		if numbers[i], err = strconv.Atoi(text); err != nil {
			return c, err
		}
	}
	c.leastEffects, c.mostEffects, c.attempts = numbers[0], max(numbers[0], numbers[1]), numbers[2]
	c.claims, c.tombstones, c.epoch = numbers[3], numbers[4], numbers[5]
	return c, nil
}

func readOutcomes(t *testing.T) []cell {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "outcomes.md"))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := outcomes(string(page))
	if err != nil {
		t.Fatalf("docs/outcomes.md: %v", err)
	}
	return cells
}

// TestOutcomesTable: the page has an outcome for each point and kind of tool, and no tool that must
// not be repeated has two effects.
func TestOutcomesTable(t *testing.T) {
	t.Parallel()
	cells := readOutcomes(t)
	if want := len(point.All()) * len(columns); len(cells) != want {
		t.Fatalf("%d cells, want %d", len(cells), want)
	}
	for _, c := range cells {
		if c.why != "" {
			continue
		}
		if !ledger.Repeatable(c.toolID) && c.mostEffects > 1 {
			t.Errorf("%s: %s may have %d effects", c.point, c.column, c.mostEffects)
		}
		if ledger.Repeatable(c.toolID) && c.code != "ok" {
			t.Errorf("%s: %s ends with %s, but the tool may be repeated", c.point, c.column, c.code)
		}
		if c.code == "ok" && c.leastEffects < 1 {
			t.Errorf("%s: %s ends ok without an effect", c.point, c.column)
		}
		if (c.code == string(toolspec.CodeOutcomeUnknown)) != (c.cause != "") || c.cause != "" && c.claims == 0 {
			t.Errorf("%s: %s: an unknown outcome has a cause and a claim, and nothing else has a cause", c.point, c.column)
		}
	}
}

// TestOutcomesTableCatchesMistakes: a page with a missing, repeated or wrong row or cell is
// refused.
func TestOutcomesTableCatchesMistakes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "outcomes.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `close\\.after` .*\n").FindString(string(page))
	for name, changed := range map[string]string{
		"a row is missing":    "",
		"a row stands twice":  row + row,
		"an unknown point":    strings.Replace(row, "close.after", "close.later", 1),
		"a cell is missing":   strings.Replace(row, " | `ok`", " `ok`", 1),
		"a cell is empty":     regexp.MustCompile("`ok`[^|]*\\|$").ReplaceAllString(strings.TrimSpace(row), " |") + "\n",
		"no reason":           regexp.MustCompile("`ok`[^|]*\\|$").ReplaceAllString(strings.TrimSpace(row), "– |") + "\n",
		"an unknown code":     strings.Replace(row, "`ok`", "`fine`", 1),
		"a number is missing": strings.Replace(row, "1 effect, ", "", 1),
	} {
		if changed == row {
			t.Errorf("%s: the test changed nothing", name)
		}
		if _, err := outcomes(strings.Replace(string(page), row, changed, 1)); err == nil {
			t.Errorf("%s: the page was accepted", name)
		}
	}
}
