package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

const (
	// scanBlock is how much of a file is in memory, and how much of a line is searched, in bytes.
	scanBlock = 1 << 20
	// scanBehind bounds the lines before a block that are kept for matches in it, in bytes.
	scanBehind = 16 << 10
)

var errBinary = errors.New("binary")

// blocks keeps buffers of scanBlock bytes.
var blocks = sync.Pool{New: func() any { b := make([]byte, scanBlock); return &b }}

// scan searches one file, block by block.
type scan struct {
	search *search
	ctx    context.Context
	file   capability.Found

	number    int // of the line at which the next part of the file begins
	matches   []grepMatch
	total     int
	cut, long int64
	allowance int64 // work that is taken from the budget and not done yet
}

// run returns errBinary for a file with a NUL in it, wherever that is.
func (c *scan) run() error {
	r, _, err := c.file.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // nothing was written
	pooled, _ := blocks.Get().(*[]byte)
	defer blocks.Put(pooled)
	err = c.read(r, *pooled)
	if errors.Is(err, errBinary) {
		c.total, c.matches = 0, nil
	}
	return err
}

// read reads the file into buf, part by part, and searches it. buf[:from] has lines that were
// searched, and buf[from:n] has data that was not searched.
func (c *scan) read(r io.Reader, buf []byte) error {
	from, n, inLong := 0, 0, false
	for {
		got, err := io.ReadFull(r, buf[n:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if err := c.account(buf[n : n+got]); err != nil {
			return err
		}
		n += got
		if inLong {
			end := bytes.IndexByte(buf[:n], '\n')
			if end < 0 {
				if last {
					return nil
				}
				n = 0
				continue
			}
			n, inLong, c.number = copy(buf, buf[end+1:n]), false, c.number+1
			if !last {
				continue
			}
		}
		end := n
		if !last {
			end = from + bytes.LastIndexByte(buf[from:n], '\n') + 1
		}
		if end == from && from > 0 && !last { // a line as long as the buffer: make room for it
			n, from = copy(buf, buf[from:n]), 0
			continue
		}
		if end == 0 && !last {
			inLong, end = true, n
			c.long++
		}
		if err := c.lines(buf, from, end, last); err != nil || last {
			return err
		}
		if inLong {
			from, n = 0, 0
			continue
		}
		keep := behind(buf[:end], c.search.before)
		n, from = copy(buf, buf[keep:n]), end-keep
	}
}

// account counts data that was read, and refuses data that is no text.
func (c *scan) account(fresh []byte) error {
	if bytes.IndexByte(fresh, 0) >= 0 {
		return errBinary
	}
	if err := c.spend(int64(len(fresh) / scanWork)); err != nil {
		return err
	}
	if c.search.bytes.Add(int64(len(fresh))) > c.search.maxBytes {
		return limitBytes
	}
	return c.ctx.Err()
}

// lines searches the lines in buf[from:end]. last says that the file ends there.
func (c *scan) lines(buf []byte, from, end int, last bool) error {
	c.finish(buf[from:end])
	p := c.search.pattern
	counted := from // where the line c.number begins
	for pos := from; pos < end; {
		start, hit := pos, pos
		if len(p.literal) > 0 {
			i := bytes.Index(buf[pos:end], p.literal)
			if i < 0 {
				break
			}
			hit = pos + i
			start = pos + bytes.LastIndexByte(buf[pos:hit], '\n') + 1
		}
		stop := end
		if i := bytes.IndexByte(buf[hit:end], '\n'); i >= 0 {
			stop = hit + i
		}
		line := bytes.TrimSuffix(buf[start:stop], []byte("\r"))
		at, to := hit-start, hit-start+len(p.literal)
		if p.expr != nil {
			var err error
			if at, to, err = c.match(line); err != nil {
				return err
			}
		}
		if at >= 0 {
			c.number += bytes.Count(buf[counted:start], []byte("\n"))
			counted = start
			c.add(line, at, to, buf[:start], buf[min(stop+1, end):end])
		}
		pos = stop + 1
	}
	if !last {
		c.number += bytes.Count(buf[counted:end], []byte("\n"))
	}
	return nil
}

// match applies the expression to a line. This work cannot be interrupted.
func (c *scan) match(line []byte) (from, to int, err error) {
	if err := c.ctx.Err(); err != nil {
		return 0, 0, err
	}
	if err := c.spend(c.search.pattern.work(line) + lineWork); err != nil {
		return 0, 0, err
	}
	from, to, partly := c.search.pattern.find(line)
	if partly {
		c.cut++
	}
	return from, to, nil
}

// spend takes work from the budget of the search: a large piece at once, or only the work that is
// needed if the budget has no large piece left.
func (c *scan) spend(work int64) error {
	if work > c.allowance {
		if c.search.spend(spendAtOnce) == nil {
			c.allowance += spendAtOnce
		}
	}
	if work > c.allowance {
		if err := c.search.spend(work - c.allowance); err != nil {
			return err
		}
		c.allowance = work
	}
	c.allowance -= work
	return nil
}

// add counts a match, and keeps it with the lines around it if it is among the first of the file.
func (c *scan) add(line []byte, from, to int, before, after []byte) {
	c.total++
	if len(c.matches) == grepWhole {
		return
	}
	m := grepMatch{Path: showable(c.file.Path()), Line: c.number, Text: excerpt(line, from, to)}
	for around := range bytes.Lines(before[behind(before, c.search.before):]) {
		m.Before = append(m.Before, aroundText(around))
	}
	c.matches = append(c.matches, m)
	c.follow(&c.matches[len(c.matches)-1], after)
}

// finish adds the first lines of a new block to the last matches of the block before it, as the
// lines after these matches.
func (c *scan) finish(after []byte) {
	for i := len(c.matches) - 1; i >= 0 && c.matches[i].Line+c.search.after >= c.number; i-- {
		c.follow(&c.matches[i], after)
	}
}

func (c *scan) follow(m *grepMatch, after []byte) {
	for len(m.After) < c.search.after && len(after) > 0 {
		line := after
		if i := bytes.IndexByte(after, '\n'); i >= 0 {
			line = after[:i+1]
		}
		m.After, after = append(m.After, aroundText(line)), after[len(line):]
	}
}

// behind returns the position in text at which its last lines begin. The parameter lines is the
// maximum number of these lines, and scanBehind their maximum size.
func behind(text []byte, lines int) int {
	at := len(text)
	for ; lines > 0 && at > 0; lines-- {
		start := bytes.LastIndexByte(text[:at-1], '\n') + 1
		if len(text)-start > scanBehind {
			break
		}
		at = start
	}
	return at
}

// excerpt returns the beginning of a line, or, where the match would not be in
// it, a part that begins shortly before the match.
func excerpt(line []byte, from, to int) string {
	if len(line) > searchText && to > searchText {
		line = line[read.RuneStart(line, max(0, from-searchLead)):]
	}
	return showable(string(line[:read.RuneStart(line, searchText)]))
}

// aroundText returns the beginning of a line near a match.
func aroundText(line []byte) string {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	return showable(string(line[:read.RuneStart(line, searchAround)]))
}
