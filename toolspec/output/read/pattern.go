package read

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxPattern bounds a pattern, in bytes.
	MaxPattern = 1000
	// MaxProgram bounds the instructions of an expression, and maxPart the bytes that it is applied to at once: its time is
	// proportional to both, and it cannot be interrupted.
	MaxProgram = 1000
	maxPart    = 64 << 10
	// partOverlap is how much of a part the next part of the same line has again: a longer match may be missed.
	partOverlap = 4 << 10
)

// The errors of NewPattern. Their texts are safe to show.
var (
	ErrBadPattern     = errors.New("the pattern is not a valid RE2 regular expression")
	ErrComplexPattern = fmt.Errorf("the pattern is too complex: it compiles to more than %d instructions; repeat less, or search for its parts in separate calls", MaxProgram)
	ErrPatternLines   = errors.New("the pattern must be within one line")
	ErrPatternSize    = fmt.Errorf("the pattern must have 1 to %d bytes", MaxPattern)
)

// Pattern is a text or a regular expression to search for.
type Pattern struct {
	// literal is a text without which nothing matches; it may be empty. Without expr it is the whole pattern.
	literal []byte
	expr    *regexp.Regexp
	program int64
	// edges says that the match of expr depends on what is before or after it.
	edges bool
	// part and overlap have the values of the constants maxPart and partOverlap. Tests set smaller values.
	part, overlap int
}

// NewPattern returns a pattern that matches text, or with isRegex the regular expression text in RE2 syntax. It returns an error whose
// text is safe to show, and does not quote the pattern.
func NewPattern(text string, isRegex bool) (Pattern, error) {
	p := Pattern{literal: []byte(text), part: maxPart, overlap: partOverlap}
	switch {
	case text == "" || len(text) > MaxPattern:
		return Pattern{}, ErrPatternSize
	case !isRegex && strings.ContainsAny(text, "\n\r"):
		return Pattern{}, ErrPatternLines
	case !isRegex:
		return p, nil
	}
	var program *syntax.Prog
	var err error
	if p.expr, program, err = CompileExpression(text); err != nil {
		return Pattern{}, err
	}
	literal, _ := p.expr.LiteralPrefix()
	p.literal, p.program = []byte(literal), int64(len(program.Inst))
	for _, i := range program.Inst {
		p.edges = p.edges || i.Op == syntax.InstEmptyWidth
	}
	return p, nil
}

// CompileExpression compiles a regular expression in RE2 syntax, and returns its program too. The error is ErrBadPattern, or
// ErrComplexPattern for a program of more than MaxProgram instructions.
func CompileExpression(text string) (*regexp.Regexp, *syntax.Prog, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, nil, ErrBadPattern // the text of err quotes the pattern
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > MaxProgram {
		return nil, nil, ErrComplexPattern
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return nil, nil, ErrBadPattern
	}
	return expr, program, nil
}

// find returns the bounds of the first match in a part of a line, from < 0 if there is none. begins and ends say that the part has the
// beginning and the end of the line. An expression that depends on the neighbourhood of a match, such as one with ^ or \b, does not
// match at the edge of a part.
func (p Pattern) find(line []byte, begins, ends bool) (from, to int) {
	if p.expr == nil {
		from = bytes.Index(line, p.literal)
		return from, from + len(p.literal)
	}
	for start := 0; ; {
		end := min(start+p.part, len(line))
		if at := p.match(line[start:end], begins && start == 0, ends && end == len(line)); at != nil {
			return start + at[0], start + at[1]
		}
		if end == len(line) {
			return -1, -1
		}
		start = end - p.overlap
	}
}

func (p Pattern) match(part []byte, begins, ends bool) []int {
	if !p.edges || begins && ends {
		return p.expr.FindIndex(part)
	}
	for _, at := range p.expr.FindAllIndex(part, 8) {
		if (begins || at[0] > 0) && (ends || at[1] < len(part)) {
			return at
		}
	}
	return nil
}

// keep returns how many bytes of an unfinished line the next part needs again.
func (p Pattern) keep() int {
	if p.expr == nil {
		return len(p.literal) - 1
	}
	return p.overlap
}
