package strictyaml

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Position is the position of a part of a document in its file. The zero Position is unknown.
type Position struct {
	File string
	// Line and Column count from 1. Column is in characters.
	Line, Column int
	// starts are the positions of the lines of a text in the file. It is nil if the file does not
	// contain every line literally, for example because of escapes.
	starts []place
}

type place struct{ line, column int }

// Position returns the position of a node. If text is the text of the node, the position also has the beginning of
// each of its lines, for Within.
func (r *Reader) Position(n *yaml.Node, text string) Position {
	p := Position{File: r.file, Line: n.Line, Column: n.Column}
	if text == "" {
		return p
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
			return p
		}
		line := []rune(strings.TrimSuffix(string(r.lines[at.line-1]), "\r"))
		if i > 0 || at.column == 0 {
			// The text of a block begins after its indentation.
			at.column = len(line) - len([]rune(strings.TrimLeft(string(line), " "))) + 1
			at.column -= len(want) - len(strings.TrimLeft(want, " "))
		}
		if at.column < 1 || at.column > len(line)+1 || !strings.HasPrefix(string(line[at.column-1:]), want) {
			return p
		}
		starts = append(starts, at)
	}
	p.starts = starts
	return p
}

// Within returns the position in the file of a line and column of the text, which both count
// from 1. For line 0, or if the position is not known, it returns the beginning of the text.
func (p Position) Within(line, column int) (inLine, inColumn int) {
	if line < 1 || line > len(p.starts) {
		return p.Line, p.Column
	}
	return p.starts[line-1].line, p.starts[line-1].column + column - 1
}

// Fault returns an Error at this position.
func (p Position) Fault(path, reason string) *Error {
	return &Error{File: p.File, Line: p.Line, Column: p.Column, Path: path, Reason: reason}
}
