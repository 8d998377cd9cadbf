package read

import (
	"bytes"
	"slices"

	"github.com/pawl-run/pawl/toolspec/output"
)

// Bounds of a search.
const (
	// MaxContext bounds the lines shown before and after a match.
	MaxContext = 20
	// MaxMatches bounds the matches of one search.
	MaxMatches = 100
	// MatchBytes bounds what is shown of a line, in bytes.
	MatchBytes = 500
	// matchLead is what is shown of a long line before a match.
	matchLead = 100
	// maxScan bounds what one search reads, in bytes.
	maxScan = 1 << 30
	// maxWork bounds the work of an expression, in instructions times bytes: some seconds for the worst expressions,
	// the same bound as in core__grep.
	maxWork = 1 << 28
	// firstLineFactor multiplies maxScan and maxWork while a search is in its first line. A search can only continue at the start of a
	// line, so if a search stopped inside its first line, the next search would stop at the same place.
	firstLineFactor = 4
	// lineWork is what a line costs an expression besides its bytes.
	lineWork = 16
)

// Query says what Grep looks for.
type Query struct {
	Pattern Pattern
	// Before and After are the lines shown around a match, at most MaxContext.
	Before, After int
	// Most bounds the matches; 0 means MaxMatches.
	Most int
	// Offset is the number of the first line that is searched, counted from 1; 0 means 1.
	Offset int64
	// pending is how many lines are to be shown although the match before them was shown by the search that this query continues.
	pending int
}

// Continue returns the query for the rest of a text whose search with q returned f, with f.Next above 0. Together, the two searches show what
// one search would show: also the lines before Next and after it that belong to a match of the other search. Lines before a match are missing
// if f is Limited.
func (q Query) Continue(f Found) Query {
	q.Offset, q.pending = f.Next, f.pending
	if n := len(f.Lines); n > 0 && !f.Limited { // after a search that was limited, the next one might not get further
		q.Offset = max(f.Lines[n-1].Number+1, f.Next-int64(q.Before))
	}
	return q
}

// Found is the result of a search.
type Found struct {
	// Lines are the matching lines and those around them, in their order, each once.
	Lines   []Line
	Matches int
	// Next is the number of the line at which the next search must begin. It is 0 if the search reached the end of the text. Without
	// Limited, the search stopped at Next because Lines had PageBytes bytes, or because there were enough matches.
	Next int64
	// Limited says that the search stopped because it had read 1 GiB, or because of the work of the expression. In the first line of a
	// search both bounds are four times as large. If that is not enough, Next is the line after it, and no search reads the rest of the
	// first line.
	Limited bool
	// pending is how many lines after the last match are not shown.
	pending int
}

// Grep returns the lines that match, at most PageBytes of them. A line of more than 64 KiB is searched by an expression in parts that
// overlap by 4 KiB. A carriage return before the newline is not part of a line.
func (t Text) Grep(q Query) (Found, error) {
	s := newSearch(q)
	for c, err := range t.chunks(output.Position{Line: s.offset - 1}) {
		if err != nil {
			return Found{}, err
		}
		if s.number == 0 {
			s.number = c.FirstLine + 1
		}
		s.chunk(c.Data)
		if s.stopped {
			return s.out, nil
		}
	}
	if len(s.carry) > 0 || s.long {
		s.endCarry()
	}
	return s.out, nil
}

// search holds the state of a Grep between chunks.
type search struct {
	Query
	offset int64
	// number is the line of the next byte; 0 means that no chunk was read.
	number int64
	// carry is the part of an unfinished line that is not searched yet. long says that earlier parts of this line have been
	// searched, matched says that such a part matched, and head is the beginning of the line.
	carry   []byte
	head    []byte
	long    bool
	matched bool
	// recent are the last lines before the next block, at most Before.
	recent []Line
	// after is how many lines are still to be shown after a match, and last the line that was shown last.
	after int
	last  int64

	out           Found
	spent         int
	scanned, work int64
	stopped       bool
}

func newSearch(q Query) *search {
	q.Before, q.After = min(q.Before, MaxContext), min(q.After, MaxContext)
	if q.Most <= 0 || q.Most > MaxMatches {
		q.Most = MaxMatches
	}
	return &search{Query: q, offset: max(q.Offset, 1), after: q.pending}
}

// stop ends the search at a line.
func (s *search) stop(line int64, limited bool) {
	s.stopped, s.out.Next, s.out.Limited, s.out.pending = true, line, limited, s.after
}

func (s *search) chunk(data []byte) {
	for s.number < s.offset {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return
		}
		s.number, data = s.number+1, data[end+1:]
	}
	if s.scanned > s.most(maxScan) {
		s.exhaust()
		return
	}
	s.scanned += int64(len(data))
	if len(s.carry) > 0 || s.long {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			s.hold(data)
			return
		}
		s.hold(data[:end])
		if s.endCarry(); s.stopped {
			return
		}
		data = data[end+1:]
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if s.block(data[:end]); !s.stopped && end < len(data) {
		s.hold(data[end:])
	}
}

// hold keeps a part of an unfinished line, and searches it if it is long.
func (s *search) hold(part []byte) {
	if s.matched {
		return
	}
	s.carry = append(s.carry, part...)
	if len(s.carry) <= s.Pattern.part || s.stopped {
		return
	}
	if !s.long {
		s.head = bytes.Clone(s.carry[:min(len(s.carry), MatchBytes+1)])
	}
	if s.found(s.carry, !s.long, false) {
		s.matched, s.carry = true, s.carry[:0]
	} else {
		rest := len(s.carry) - min(s.Pattern.keep(), len(s.carry))
		s.carry = s.carry[:copy(s.carry, s.carry[rest:])]
	}
	s.long = true
}

// endCarry ends the line of carry.
func (s *search) endCarry() {
	text := bytes.TrimSuffix(s.carry, []byte{'\r'})
	if !s.matched && !s.stopped && !s.found(text, !s.long, true) && !s.stopped {
		if s.long {
			text = s.head
		}
		s.pass(shorten(s.number, text))
	}
	s.carry, s.head, s.long, s.matched = s.carry[:0], nil, false, false
	s.number++
}

// pass goes past a line without a match.
func (s *search) pass(l Line) {
	if s.after > 0 {
		s.show(l)
		s.after--
	}
	s.remember(l)
}

func (s *search) remember(l Line) {
	if s.Before == 0 {
		return
	}
	l.Text = bytes.Clone(l.Text)
	if len(s.recent) == s.Before {
		s.recent = s.recent[:copy(s.recent, s.recent[1:])]
	}
	s.recent = append(s.recent, l)
}

// found searches a line, or a part of a long line, and shows it if it matches. It reports whether it matches.
func (s *search) found(text []byte, begins, ends bool) bool {
	if !s.addWork(text) {
		return false
	}
	from, to := s.Pattern.find(text, begins, ends)
	if from < 0 {
		return false
	}
	l := excerpt(s.number, text, from, to, begins && ends)
	s.hit(l, s.recent)
	s.remember(l)
	return true
}

// addWork adds the work of an expression on text. It stops the search if that is too much.
func (s *search) addWork(text []byte) bool {
	if s.Pattern.expr == nil {
		return true
	}
	s.work += s.Pattern.program * int64(len(text)+lineWork)
	if s.work > s.most(maxWork) {
		s.exhaust()
		return false
	}
	return true
}

// most returns the bound that applies at the current line: in the first line it is larger, see
// firstLineFactor.
func (s *search) most(bound int64) int64 {
	if s.number == s.offset {
		return firstLineFactor * bound
	}
	return bound
}

// exhaust ends the search at its bound. The next search begins at the current line, or at the line after it in two cases: the current
// line has been shown, or this search began with it, so that the next search would stop there, too.
func (s *search) exhaust() {
	next := s.number
	if s.matched || next == s.offset {
		next++
	}
	s.stop(next, true)
}

// block searches whole lines.
func (s *search) block(data []byte) {
	at := 0
	for at < len(data) && !s.stopped {
		start := at
		if s.after == 0 && len(s.Pattern.literal) > 0 {
			i := bytes.Index(data[at:], s.Pattern.literal)
			if i < 0 {
				break
			}
			start = at + bytes.LastIndexByte(data[at:at+i], '\n') + 1
			s.number += int64(bytes.Count(data[at:start], []byte{'\n'}))
		}
		end := start + bytes.IndexByte(data[start:], '\n')
		line := bytes.TrimSuffix(data[start:end], []byte{'\r'})
		if !s.addWork(line) {
			break
		}
		if from, to := s.Pattern.find(line, true, true); from >= 0 {
			s.hit(excerpt(s.number, line, from, to, true), s.before(data[:start]))
		} else if s.after > 0 {
			s.show(shorten(s.number, line))
			s.after--
		}
		if s.stopped {
			break
		}
		at = end + 1
		s.number++
	}
	s.number += int64(bytes.Count(data[at:], []byte{'\n'}))
	s.recent = s.before(data)
}

// before returns the last Before lines of data, and of recent if data has fewer. The next line is number.
func (s *search) before(data []byte) (lines []Line) {
	if s.Before == 0 {
		return nil
	}
	number := s.number
	for len(lines) < s.Before && len(data) > 0 {
		end := len(data) - 1
		start := bytes.LastIndexByte(data[:end], '\n') + 1
		number--
		l := shorten(number, bytes.TrimSuffix(data[start:end], []byte{'\r'}))
		l.Text = bytes.Clone(l.Text)
		lines = append(lines, l)
		data = data[:start]
	}
	slices.Reverse(lines)
	if missing := s.Before - len(lines); missing > 0 {
		lines = append(slices.Clone(s.recent[max(0, len(s.recent)-missing):]), lines...)
	}
	return lines
}

// hit shows a match and the lines before it that are not shown yet, or stops the search before it.
func (s *search) hit(l Line, before []Line) {
	if s.out.Matches == s.Most {
		s.stop(l.Number, false)
		return
	}
	l.Match = true
	before = slices.DeleteFunc(slices.Clone(before), func(b Line) bool { return b.Number <= s.last })
	total := l.cost()
	for _, b := range before {
		total += b.cost()
	}
	for len(s.out.Lines) == 0 && len(before) > 0 && total > PageBytes {
		total -= before[0].cost()
		before = before[1:]
	}
	if s.spent+total > PageBytes {
		s.stop(l.Number, false)
		return
	}
	for _, b := range append(before, l) {
		s.show(b)
	}
	s.out.Matches++
	s.after = s.After
}

// show adds a line, or stops the search before it.
func (s *search) show(l Line) {
	if s.stopped {
		return
	}
	if s.spent+l.cost() > PageBytes && len(s.out.Lines) > 0 {
		s.stop(l.Number, false)
		return
	}
	l.Text = bytes.Clone(l.Text)
	s.out.Lines = append(s.out.Lines, l)
	s.spent += l.cost()
	s.last = l.Number
}

// shorten returns the beginning of a line.
func shorten(number int64, text []byte) Line {
	if len(text) <= MatchBytes {
		return Line{Number: number, Text: text}
	}
	return Line{Number: number, Text: text[:RuneStart(text, MatchBytes)], Cut: true}
}

// excerpt returns the part of a line with a match. whole says that text is the whole line.
func excerpt(number int64, text []byte, from, to int, whole bool) Line {
	if len(text) <= MatchBytes {
		return Line{Number: number, Text: text, Cut: !whole}
	}
	start := 0
	if to > MatchBytes {
		start = RuneStart(text, max(0, from-matchLead))
	}
	return Line{Number: number, Text: text[start:RuneStart(text, min(len(text), start+MatchBytes))], Cut: true}
}
