package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// guarded are the SQL files whose conditions guard the state of a call. All are in internal/postgres/record.
var guarded = []string{"admit.sql", "claim.sql", "settle.sql", "sweep.sql", "approval.sql", "grants.sql", "quota.sql", "lease.sql", "ending.sql", "reconcile.sql"}

// condition is a statement file with one condition changed: the condition is always true, or always false if it is an alternative.
type condition struct{ guard, file, text, changed string }

// conditions returns each condition of the guarded files.
func conditions(root string) (found []condition, err error) {
	for _, name := range guarded {
		source, err := os.ReadFile(filepath.Join(root, "internal/postgres/record", name))
		if err != nil {
			return nil, err
		}
		text := string(source)
		for _, at := range opening.FindAllStringSubmatchIndex(text, -1) {
			word, from := text[at[2]:at[3]], at[1]
			before := text[strings.LastIndexByte(text[:from], '\n')+1 : from]
			if strings.Contains(before, "--") {
				continue
			}
			operand := operand(text[from:])
			changed := "(" + operand + " OR true)"
			if word == "WHEN" || word == "OR" {
				changed = "(" + operand + " AND false)"
			}
			found = append(found, condition{
				guard: fmt.Sprintf("condition: %s:%d:%d %s %s", name, strings.Count(text[:from], "\n")+1, len(before)+1, word, strings.Join(strings.Fields(operand), " ")),
				file:  name,
				text:  text, changed: text[:from] + changed + text[from+len(operand):],
			})
		}
	}
	return found, nil
}

// ofStatements makes the store read the text in $MUTANT_CHANGED in place of that in $MUTANT_TEXT. So the tests are built once for all conditions.
var ofStatements = mutant{
	file: "internal/postgres/db/query.go",
	edits: []edit{
		{"import (\n", "import (\n\t\"os\"\n"},
		{"addQueries(queries, path, string(text))", `addQueries(queries, path, strings.Replace(string(text), os.Getenv("MUTANT_TEXT"), os.Getenv("MUTANT_CHANGED"), 1))`},
	},
}

// tryConditions runs the tests of the store for each chosen condition, and returns how many conditions no test noticed.
func tryConditions(ctx context.Context, root string, chosen []condition) (survivors int, err error) {
	if len(chosen) == 0 {
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "pawl-mutant-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := ofStatements.overlay(root, dir)
	if err != nil {
		return 0, err
	}
	program := filepath.Join(dir, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay="+overlay, "-o", program, "./internal/postgres")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the tests: %w\n%s", err, output)
	}
	// The tests that noticed other conditions of the same file come before the rest: so most conditions take seconds.
	first := map[string]string{}
	for _, c := range chosen {
		began := time.Now()
		var red []string
		for _, tests := range []string{"^(TestRecord|TestOtherCallsAreLeftAlone|Test.*LeavesOthers" + first[c.file] + ")$", "."} {
			test := exec.CommandContext(ctx, program, "-test.failfast", "-test.parallel=8", "-test.timeout=5m", "-test.run", tests)
			test.Dir = filepath.Join(root, "internal/postgres")
			test.Env = append(test.Environ(), "MUTANT_TEXT="+c.text, "MUTANT_CHANGED="+c.changed)
			if red, err = failures(ctx, test); err != nil {
				return 0, fmt.Errorf("%s: %w", c.guard, err)
			}
			if len(red) > 0 {
				break
			}
		}
		for _, test := range red {
			if name := "|" + regexp.QuoteMeta(test); !strings.Contains(first[c.file]+"|", name+"|") {
				first[c.file] += name
			}
		}
		if !report(c.guard, began, red) {
			survivors++
		}
	}
	return survivors, nil
}

var (
	// opening matches the keyword before a condition.
	opening = regexp.MustCompile(`\b(WHERE|AND|OR|WHEN)\s+`)
	// closing matches the keyword after a condition.
	closing = regexp.MustCompile(`^\s+(AND|OR|WHERE|THEN|RETURNING|ORDER|LIMIT|GROUP|UNION|ON|FOR)\b|^\s*$`)
)

// operand returns the condition at the start of text. It ends before the next keyword, or before a
// parenthesis that it did not open.
func operand(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return strings.TrimRight(text[:i], " \n")
			}
		case ';':
			return text[:i]
		case ' ', '\n':
			if depth == 0 && closing.MatchString(text[i:]) {
				return text[:i]
			}
		}
	}
	return text
}
