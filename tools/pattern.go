package tools

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of a pattern. A regular expression takes time in proportion to its
// program times the line, and cannot be interrupted: 1000 instructions on
// 16 KB take about 0.2 s at the worst.
const (
	maxProgram = 1000
	maxLine    = 16 << 10
)

// pattern finds the first match in a line: literally, or by expression.
type pattern struct {
	literal []byte
	expr    *regexp.Regexp
}

func newPattern(text string, isRegex, ignoreCase bool) (pattern, error) {
	if !isRegex {
		if strings.ContainsAny(text, "\n\r") {
			return pattern{}, toolspec.Safef("the pattern must be within one line")
		}
		if !ignoreCase {
			return pattern{literal: []byte(text)}, nil
		}
		text = regexp.QuoteMeta(text)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		// Its text quotes the pattern.
		return pattern{}, toolspec.Safef("the pattern is not a valid RE2 regular expression")
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return pattern{}, toolspec.Safef("the pattern is too complex: shorten it or repeat less")
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, toolspec.Safef("the pattern is not a valid RE2 regular expression")
	}
	return pattern{expr: expr}, nil
}

// find returns where the first match begins and ends in line, from < 0 if there
// is none. partly says that an expression was held against the beginning of the
// line only.
func (p pattern) find(line []byte) (from, to int, partly bool) {
	if p.expr == nil {
		from = bytes.Index(line, p.literal)
		return from, from + len(p.literal), false
	}
	if len(line) > maxLine {
		line, partly = line[:runeStart(line, maxLine)], true
	}
	at := p.expr.FindIndex(line)
	if at == nil {
		return -1, -1, partly
	}
	return at[0], at[1], false
}
