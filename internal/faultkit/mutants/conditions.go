package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// guarded are the SQL files whose conditions guard the state of a call.
var guarded = []string{"admit.sql", "claim.sql", "settle.sql", "sweep.sql"}

// conditions returns a mutant for each condition of the guarded files. The condition becomes true,
// or false if it is an alternative.
func conditions(root string) (found []mutant, err error) {
	for _, name := range guarded {
		file := filepath.Join("internal/postgres/record", name)
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		text := string(source)
		for _, at := range opening.FindAllStringSubmatchIndex(text, -1) {
			word, from := text[at[2]:at[3]], at[1]
			line := strings.Count(text[:from], "\n") + 1
			if strings.Contains(text[strings.LastIndexByte(text[:from], '\n')+1:from], "--") {
				continue
			}
			condition := operand(text[from:])
			changed := "(" + condition + " OR true)"
			if word == "WHEN" || word == "OR" {
				changed = "(" + condition + " AND false)"
			}
			found = append(found, mutant{
				guard: fmt.Sprintf("condition: %s:%d %s %s", name, line, word, strings.Join(strings.Fields(condition), " ")),
				file:  file, text: text[:from] + changed + text[from+len(condition):],
				run: "TestRecord$", elseRun: "Test", packages: onRecord,
			})
		}
	}
	return found, nil
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
