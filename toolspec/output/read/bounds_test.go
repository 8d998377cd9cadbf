package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/output"
)

// TestLongLines: a line beyond the bound of a part is searched in parts, in one chunk and in many.
func TestLongLines(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("y", 100)
	for _, c := range []struct {
		pattern string
		regex   bool
		line    string
		want    bool
	}{
		{"needle", false, strings.Repeat(fill, 9) + "needle" + strings.Repeat(fill, 9), true},
		{"ne+dle", true, strings.Repeat(fill, 9) + "neeedle" + strings.Repeat(fill, 9), true},
		{"needle.*", true, fill + "needle" + strings.Repeat(fill, 9), true},
		{"^y+needle", true, "yneedle" + strings.Repeat(fill, 9), true},
		{"^needle", true, fill + "needle" + strings.Repeat(fill, 9), false},
		{"needle$", true, strings.Repeat(fill, 9) + "needle", true},
		{"needle$", true, strings.Repeat(fill, 3) + "needle" + strings.Repeat(fill, 9), false},
		{`\bneedle\b`, true, strings.Repeat(fill, 3) + " needle " + strings.Repeat(fill, 9), true},
		{`\bneedle`, true, strings.Repeat(fill, 9) + "needle" + strings.Repeat(fill, 9), false},
		{"needle", false, strings.Repeat(fill, 9), false},
	} {
		p, err := NewPattern(c.pattern, c.regex)
		if err != nil {
			t.Fatal(err)
		}
		p.part, p.overlap = 64, 16
		for size := 1; size < 2000; size += 13 {
			data := "first\n" + c.line + "\nlast\n"
			found, err := open(t, newMemory("text/plain", []byte(data), fixed(size)), "").Grep(Query{Pattern: p, Before: 1, After: 1})
			if err != nil {
				t.Fatal(err)
			}
			if (found.Matches == 1) != c.want {
				t.Fatalf("%s in chunks of %d: %d matches", c.pattern, size, found.Matches)
			}
			if !c.want {
				continue
			}
			if len(found.Lines) != 3 || found.Lines[0].Number != 1 || found.Lines[1].Number != 2 || !found.Lines[1].Cut || string(found.Lines[2].Text) != "last" {
				t.Fatalf("%s in chunks of %d: %q", c.pattern, size, texts(found.Lines))
			}
		}
	}
}

// TestLongLineIsNotRead: a page that ends with a long line does not read that line to its end, and the line after a long line is found
// by the index.
func TestLongLineIsNotRead(t *testing.T) {
	t.Parallel()
	m := newMemory("text/plain", []byte(strings.Repeat("x", 1<<20)+"\nlast\n"), fixed(4096))
	for _, w := range []Window{{Limit: 1}, {Limit: 2}, {}} {
		m.given = 0
		page, err := open(t, m, "").Lines(w)
		if err != nil || !page.Lines[0].Cut || m.given > 32<<10 {
			t.Errorf("%+v: %d bytes were read, %v", w, m.given, err)
		}
		if w.Limit != 1 && (len(page.Lines) != 2 || string(page.Lines[1].Text) != "last" || page.Next != 0) {
			t.Errorf("%+v: %.100q", w, texts(page.Lines))
		}
	}
}

// TestBounds: a search stops at its bounds, says where to go on, and the parts together are the whole.
func TestBounds(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("some text that is not short at all, with a needle\n", 2000)
	p, err := NewPattern("needle", false)
	if err != nil {
		t.Fatal(err)
	}
	text, matches := open(t, newMemory("text/plain", []byte(data), fixed(1000)), ""), 0
	for offset, calls := int64(1), 0; offset > 0; calls++ {
		found, err := text.Grep(Query{Pattern: p, Offset: offset})
		if err != nil || found.Next == offset || calls > 2000 {
			t.Fatal(found.Next, err)
		}
		encoded, err := json.Marshal(strings.Join(texts(found.Lines), "\n"))
		if err != nil || len(encoded) > 10<<10 {
			t.Fatalf("a page of %d bytes", len(encoded))
		}
		matches, offset = matches+found.Matches, found.Next
	}
	if matches != 2000 {
		t.Errorf("%d matches", matches)
	}
	costly, err := NewPattern("(a?){150}b$", true)
	if err != nil {
		t.Fatal(err)
	}
	found, err := open(t, newMemory("text/plain", []byte(strings.Repeat(strings.Repeat("a", 9000)+"\n", 400)), fixed(1<<16)), "").Grep(Query{Pattern: costly})
	if err != nil || !found.Limited || found.Next < 2 {
		t.Errorf("a costly expression: %+v, %v", found, err)
	}
}

// TestContinue: searches that continue each other show each line around a match once, as one search without bounds would.
func TestContinue(t *testing.T) {
	t.Parallel()
	p, err := NewPattern("needle", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ every, size, before, after, most int }{
		{10, 10, 2, 0, 0}, {10, 10, 0, 3, 0}, {3, 10, 2, 2, 0}, {1, 10, 2, 2, 0}, {10, 500, 5, 5, 0}, {40, 500, 0, 20, 0}, {40, 450, 15, 20, 0}, {7, 500, 6, 6, 2}, {3, 500, 20, 20, 0}, {30, 2000, 4, 20, 1},
	} {
		var data strings.Builder
		var want []string
		for i := range 1500 {
			at, kind := i%c.every, "hay"
			if at == 0 {
				kind = "needle"
			}
			text := fmt.Sprintf("%-*s", c.size, kind)
			data.WriteString(text + "\n")
			if at == 0 || i-at+c.every < 1500 && c.every-at <= c.before || at <= c.after {
				l := shorten(int64(i+1), []byte(text))
				l.Match = at == 0
				want = append(want, texts([]Line{l})...)
			}
		}
		text, q, got := open(t, newMemory("text/plain", []byte(data.String()), fixed(1000)), ""), Query{Pattern: p, Before: c.before, After: c.after, Most: c.most}, []string(nil)
		for calls := 0; ; calls++ {
			found, err := text.Grep(q)
			if err != nil || calls > 1500 {
				t.Fatalf("%+v: %v after %d searches", c, err, calls)
			}
			got = append(got, texts(found.Lines)...)
			if found.Next == 0 {
				break
			}
			q = q.Continue(found)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d lines, want %d", c, len(got), len(want))
		}
	}
}

// TestSearchBounds: a search that has read or worked enough says where to go on: at the line that it is in, or behind the first line, which
// has more room, because a search from there would not get further.
func TestSearchBounds(t *testing.T) {
	t.Parallel()
	literal, err := NewPattern("needle", false)
	if err != nil {
		t.Fatal(err)
	}
	costly, err := NewPattern("n?eed.e", true)
	if err != nil {
		t.Fatal(err)
	}
	costly.program = maxWork / 10 / 1000 // ten lines of about 1000 bytes
	line := strings.Repeat("x", 1000-lineWork)
	long := strings.Repeat(line, 70)
	for name, c := range map[string]struct {
		pattern Pattern
		offset  int64
		// read is what the search has read before chunks.
		read    int64
		chunks  []string
		next    int64
		matches int
	}{
		"it has read enough":                       {literal, 1, maxScan + 1, []string{"a\nb\nc", "d\nneedle\n"}, 3, 0},
		"it has not":                               {literal, 1, maxScan - 7, []string{"a\nb\nc", "d\nneedle\n"}, 0, 1},
		"in a line that is shown":                  {literal, 1, maxScan - 100, []string{"a\nb needle" + long, long, "\n"}, 3, 1},
		"in a line that is not shown":              {literal, 1, maxScan - 100, []string{"a\nb " + long, long + "needle\n"}, 2, 0},
		"in the first line":                        {literal, 5, maxScan + 1, []string{"a\n\n\n\nfirst", "line", " needle\n", "end"}, 6, 1},
		"too far in the first line":                {literal, 5, 4*maxScan - 100, []string{"a\n\n\n\nfirst" + long, " needle\n"}, 6, 0},
		"too far in the first line, which matches": {literal, 5, 4*maxScan - 100, []string{"a\n\n\n\nfirst needle" + long, " needle\n"}, 6, 1},
		"it has worked enough":                     {costly, 1, 0, []string{strings.Repeat(line+"\n", 20)}, 11, 0},
		"it has worked enough in a first line":     {costly, 1, 0, []string{long + "needle\nneedle\n"}, 2, 0},
		"a first line has more room":               {costly, 1, 0, []string{long[:30*len(line)] + "needle\n" + line + "\n"}, 2, 1},
		"a long line that is not the first":        {costly, 1, 0, []string{"a\n" + long, "\nneedle\n"}, 2, 0},
	} {
		s := newSearch(Query{Pattern: c.pattern, Offset: c.offset})
		s.number = 1
		for i, data := range c.chunks {
			if s.chunk([]byte(data)); i == 0 {
				s.scanned += c.read
			}
			if s.stopped {
				break
			}
		}
		if s.out.Next != c.next || s.out.Limited != (c.next > 0) || s.out.Matches != c.matches {
			t.Errorf("%s: %d matches, and it goes on at %d (%t), want %d matches and %d", name, s.out.Matches, s.out.Next, s.out.Limited, c.matches, c.next)
		}
	}
}

// TestDepth: a value of more levels than the values of tools have is not indented, and a pointer shows what is deep in it.
func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) *memory {
		return newMemory("application/json", []byte(strings.Repeat(`{"a":`, n)+"7"+strings.Repeat("}", n)), fixed(100))
	}
	p, err := NewPattern("7", false)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := open(t, nested(64), "").Grep(Query{Pattern: p}); err != nil || len(found.Lines) != 1 || found.Lines[0].Number != 65 {
		t.Errorf("64 levels: %q, %v", texts(found.Lines), err)
	}
	deep := nested(65)
	if _, err := open(t, deep, "").Lines(Window{}); !errors.Is(err, ErrTooDeep) {
		t.Errorf("65 levels: %v", err)
	}
	if found, err := open(t, deep, "/a/a").Grep(Query{Pattern: p}); err != nil || len(found.Lines) != 1 || found.Lines[0].Number != 64 {
		t.Errorf("63 levels of 65: %q, %v", texts(found.Lines), err)
	}
}

// endless is a JSON value with a text that never ends.
type endless struct{ memory }

func (e *endless) Chunks(context.Context, string, string, output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		data := []byte(`{"a":"` + strings.Repeat("x", 1<<16))
		for at := int64(0); yield(output.Chunk{FirstByte: at, Data: data}, nil); at += int64(len(data)) {
			e.given += len(data)
			data = data[6:]
			data = append([]byte("yyyyyy"), data...)
		}
	}
}

// TestTokenBound: a text within a value does not fill the memory.
func TestTokenBound(t *testing.T) {
	t.Parallel()
	e := &endless{memory{info: output.Info{Ref: "r", TenantID: "t", MediaType: "application/json", Bytes: 5 << 30, Lines: 1, Complete: true}}}
	if _, err := Open(t.Context(), e, "t", "r", "/b"); !errors.Is(err, ErrTooLong) || e.given > 4*MaxToken {
		t.Errorf("%v after %d bytes", err, e.given)
	}
}
