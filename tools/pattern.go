package tools

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// Bounds of a pattern. The time of a regular expression is proportional to the
// instructions of its program times the bytes of the line, at most 5 to
// 15 ns for each, and it cannot be interrupted within a line: 1000 instructions
// on 16 KiB take up to 0.25 s.
const (
	maxProgram = read.MaxProgram
	maxLine    = 16 << 10
)

var (
	errBadRegex = toolspec.Safef("the pattern is not a valid RE2 regular expression")
	errTooLarge = toolspec.Safef("the pattern is too complex: it compiles to more than %d instructions; "+
		"repeat less, for {n} multiplies what it follows, or search for the parts in separate calls", maxProgram)
	errTwoLines = toolspec.Safef("the pattern must be within one line")
)

// pattern finds the first match in a line: literally, or by expression.
type pattern struct {
	// literal is a text without which nothing matches; it may be empty. Without
	// expr it is the whole pattern.
	literal []byte
	expr    *regexp.Regexp
	// program is how many instructions expr compiles to.
	program int64
}

// newPattern compiles a pattern. It refuses a text that is no regular expression, and an expression
// that compiles to more than maxProgram instructions. The error is safe to show.
func newPattern(text string, isRegex, ignoreCase bool) (pattern, error) {
	if !isRegex {
		if strings.ContainsAny(text, "\n\r") {
			return pattern{}, errTwoLines
		}
		if !ignoreCase {
			return pattern{literal: []byte(text)}, nil
		}
		text = regexp.QuoteMeta(text)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	expr, program, err := read.CompileExpression(text)
	if errors.Is(err, read.ErrComplexPattern) {
		return pattern{}, errTooLarge
	}
	if err != nil {
		return pattern{}, errBadRegex
	}
	literal, _ := expr.LiteralPrefix()
	return pattern{literal: []byte(literal), expr: expr, program: int64(len(program.Inst))}, nil
}

// find returns the bounds of the first match in line. from is negative if there is no match. An
// expression is applied only to the first maxLine bytes of a line; partly says that the line is
// longer and that these bytes have no match.
func (p pattern) find(line []byte) (from, to int, partly bool) {
	if p.expr == nil {
		from = bytes.Index(line, p.literal)
		return from, from + len(p.literal), false
	}
	if len(line) > maxLine {
		line, partly = line[:read.RuneStart(line, maxLine)], true
	}
	at := p.expr.FindIndex(line)
	if at == nil {
		return -1, -1, partly
	}
	return at[0], at[1], false
}

// work bounds the cost of find from above, in instructions of the program times
// bytes. A literal counts as one instruction.
func (p pattern) work(line []byte) int64 {
	if p.expr == nil {
		return int64(len(line))
	}
	return p.program * int64(min(len(line), maxLine)+1)
}
