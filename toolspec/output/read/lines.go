package read

import (
	"bytes"

	"github.com/pawl-run/pawl/toolspec/output"
)

// Bounds of a page. A result with a page stays below 10 KiB, the size at which results are truncated.
const (
	// PageBytes bounds the text of a page, in bytes of a JSON string.
	PageBytes = 9 << 10
	// LineBytes bounds what is shown of a line, in bytes, if more than one line is asked for.
	LineBytes = 2000
	// lineCost is what a line costs of a page besides its text: its number and its end.
	lineCost = 12
	// noticeCost is what the notice of a cut line costs.
	noticeCost = 120
)

// Window says which lines to read.
type Window struct {
	// Offset is the number of the first line, counted from 1; 0 means 1.
	Offset int64
	// Limit bounds the lines; 0 means as many as the page holds.
	Limit int64
}

// Line is a line without its newline.
type Line struct {
	// Number counts from 1.
	Number int64
	// Text is the line, or a part of it if Cut is set: its beginning, and in a match of Grep the part with the match.
	Text []byte
	Cut  bool
	// At is the offset in the output, in bytes, where a cut line goes on behind Text. It is 0 if the lines are formed from JSON, and
	// in Grep.
	At int64
	// Match says that the line matches the pattern of Grep.
	Match bool
}

func (l Line) cost() int {
	c := cost(l.Text) + lineCost
	if l.Cut {
		c += noticeCost
	}
	return c
}

// Page is a part of a text.
type Page struct {
	Lines []Line
	// Next is the number of the line to go on with, and 0 at the end of the text.
	Next int64
}

// Lines returns the lines of a window, at most PageBytes. A carriage return before the newline is not part of a line. The error is
// ErrPastEnd if the text has no line Offset, unless Offset is 1.
func (t Text) Lines(w Window) (Page, error) {
	p := pager{text: t, first: max(w.Offset, 1), limit: w.Limit, lineBytes: LineBytes}
	if w.Limit == 1 {
		p.lineBytes = PageBytes
	}
	empty := p.first > 1
	for more := true; more; {
		var err error
		if more, err = p.read(); err != nil {
			return Page{}, err
		}
	}
	if len(p.out.Lines) == 0 && empty {
		return Page{}, ErrPastEnd
	}
	return p.out, nil
}

// pager collects the lines of a page from chunks.
type pager struct {
	text      Text
	first     int64
	limit     int64
	lineBytes int

	out   Page
	spent int
	// full says that no line is added any more. Next is then a line that may not exist.
	full bool
	// number is the line of the next byte; 0 means that no chunk was read.
	number int64
	// held is the beginning of that line, at most lineBytes+1 bytes, and start is the offset of the line in the output. open says
	// that the line has begun, and shown says that it is on the page.
	held        []byte
	start       int64
	open, shown bool
	// over says that the line has more bytes than held.
	over bool
}

// read reads chunks from the line first on. If again is true, the caller must call read again: read has set first to the next line,
// so that the rest of a long line is not read.
func (p *pager) read() (again bool, err error) {
	p.number = 0
	for c, err := range p.text.chunks(output.Position{Line: p.first - 1}) {
		if err != nil {
			return false, err
		}
		if p.number == 0 {
			p.number = c.FirstLine + 1
		}
		if p.chunk(c.Data, c.FirstByte) {
			return false, nil
		}
		if next := p.number + 1; p.shown && p.text.indexed() {
			p.reset()
			p.first = next
			return p.text.Info.Lines >= next, nil
		}
	}
	if p.open && !p.shown {
		p.show()
	}
	if p.out.Next > p.number || !p.open {
		p.out.Next = 0 // there is no such line
	}
	return false, nil
}

func (p *pager) reset() { p.held, p.open, p.shown, p.over = nil, false, false, false }

// chunk reads a chunk. done says that the page needs no more.
func (p *pager) chunk(data []byte, at int64) (done bool) {
	for len(data) > 0 {
		if p.full {
			return true // the byte belongs to the line Next
		}
		end := bytes.IndexByte(data, '\n')
		part := data
		if end >= 0 {
			part = data[:end]
		}
		if p.number >= p.first && !p.shown {
			if !p.open {
				p.open, p.start = true, at
			}
			room := p.lineBytes + 1 - len(p.held) // one byte more, which may be a carriage return
			p.over = len(part) > room
			p.held = append(p.held, part[:min(len(part), room)]...)
			if end >= 0 || p.over {
				p.show()
			}
		}
		if p.full && (p.out.Next == p.number || p.text.indexed()) {
			if p.out.Next > p.text.Info.Lines && p.text.indexed() {
				p.out.Next = 0
			}
			return true
		}
		if end < 0 {
			return false
		}
		p.reset()
		p.number++
		data, at = data[end+1:], at+int64(end)+1
	}
	return false
}

// show puts the line on the page, or ends the page before it.
func (p *pager) show() {
	p.shown = true
	l := Line{Number: p.number, Text: p.held}
	if !p.over {
		l.Text = bytes.TrimSuffix(p.held, []byte{'\r'})
	}
	if len(l.Text) > p.lineBytes {
		l.Text, l.Cut = l.Text[:RuneStart(l.Text, p.lineBytes)], true
	}
	if len(p.out.Lines) == 0 {
		if n := fitting(l.Text, PageBytes-lineCost-noticeCost); n < len(l.Text) {
			l.Text, l.Cut = l.Text[:n], true
		}
	} else if p.spent+l.cost() > PageBytes {
		p.full, p.out.Next = true, p.number
		return
	}
	if l.Cut && !p.text.Formed {
		l.At = p.start + int64(len(l.Text))
	}
	p.out.Lines = append(p.out.Lines, l)
	p.spent += l.cost()
	if p.limit > 0 && int64(len(p.out.Lines)) >= p.limit {
		p.full, p.out.Next = true, p.number+1
	}
}

// fitting returns how much of text costs at most room, up to the beginning of a character.
func fitting(text []byte, room int) int {
	for i := range text {
		if room -= byteCost(text[i]); room < 0 {
			return RuneStart(text, i)
		}
	}
	return len(text)
}

// cost returns the length of text in a JSON string.
func cost(text []byte) (n int) {
	for _, c := range text {
		n += byteCost(c)
	}
	return n
}

func byteCost(c byte) int {
	switch {
	case c == '"' || c == '\\' || c == '\t':
		return 2
	case c < 0x20 || c == 0x7f:
		return 6
	}
	return 1
}
