package policy

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// origin is the position of a part of a policy in its file.
type origin struct {
	file         string
	line, column int
	// starts are the positions of the lines of a text in the file. It is nil if the file does not
	// contain every line literally, for example because of escapes.
	starts []place
}

type place struct{ line, column int }

// origin returns the position of a node, and of the lines of its text.
func (r *reader) origin(n *yaml.Node, text string) origin {
	o := origin{file: r.file, line: n.Line, column: n.Column}
	if text == "" {
		return o
	}
	first := place{n.Line, n.Column}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		first = place{n.Line + 1, 0}
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		first.column++
	}
	var starts []place
	for i, want := range strings.Split(text, "\n") {
		at := place{first.line + i, first.column}
		if at.line > len(r.lines) {
			return o
		}
		line := []rune(strings.TrimSuffix(string(r.lines[at.line-1]), "\r"))
		if i > 0 || at.column == 0 {
			// The text of a block begins after its indentation.
			at.column = len(line) - len([]rune(strings.TrimLeft(string(line), " "))) + 1
			at.column -= len(want) - len(strings.TrimLeft(want, " "))
		}
		if at.column < 1 || at.column > len(line)+1 || !strings.HasPrefix(string(line[at.column-1:]), want) {
			return o
		}
		starts = append(starts, at)
	}
	o.starts = starts
	return o
}

// position returns the position in the file of a line and column of the text, which both count
// from 1. For line 0, or if the position is not known, it returns the beginning of the text.
func (o origin) position(line, column int) (inLine, inColumn int) {
	if line < 1 || line > len(o.starts) {
		return o.line, o.column
	}
	return o.starts[line-1].line, o.starts[line-1].column + column - 1
}

// says returns an Error at this position.
func (o origin) says(path, reason string) *Error {
	return &Error{File: o.file, Line: o.line, Column: o.column, Path: path, Reason: reason}
}
