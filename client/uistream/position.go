package uistream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the stream of a run: after some parts of an event. Its text is the id of a
// server-sent event.
type Position struct {
	// Seq is the sequence number of the event, 0 before the first event.
	Seq int64
	// Parts is the number of parts of the event that are before the position, and 0 if all are.
	Parts int
}

// String returns "SEQ" after all parts of an event, and "SEQ.PARTS" between two parts of the event.
func (p Position) String() string {
	if p.Parts == 0 {
		return strconv.FormatInt(p.Seq, 10)
	}
	return fmt.Sprintf("%d.%d", p.Seq, p.Parts)
}

var errPosition = errors.New("the id of the last event must be a number, or two numbers with a dot between them, as in the stream")

// ParsePosition reads the text of a position. An empty text is the position before the first event.
func ParsePosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	seq, parts, between := strings.Cut(text, ".")
	if p.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || p.Seq < 0 {
		return Position{}, errPosition
	}
	if between {
		p.Parts, err = strconv.Atoi(parts)
	}
	if err != nil || between && (p.Parts < 1 || p.Seq == 0) || p.String() != text {
		return Position{}, errPosition
	}
	return p, nil
}

// After returns the parts of the event seq that are after the position, each with its own position.
func (p Position) After(seq int64, parts []Part) (rest []Part, at []Position) {
	if seq < p.Seq || seq == p.Seq && p.Parts == 0 {
		return nil, nil
	}
	first := 0
	if seq == p.Seq {
		first = min(p.Parts, len(parts))
	}
	rest = parts[first:]
	for n := range rest {
		here := Position{Seq: seq, Parts: first + n + 1}
		if n == len(rest)-1 {
			here.Parts = 0
		}
		at = append(at, here)
	}
	return rest, at
}
