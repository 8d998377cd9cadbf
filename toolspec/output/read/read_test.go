package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/output"
)

// memory is a Reader of one output, in chunks of random sizes.
type memory struct {
	info   output.Info
	chunks []output.Chunk
	// given counts the bytes of the chunks that were read.
	given int
	fail  error
}

func newMemory(mediaType string, data []byte, size func() int) *memory {
	m := &memory{info: output.Info{Ref: "r", TenantID: "t", MediaType: mediaType, Bytes: int64(len(data)), Complete: true}}
	if !strings.HasPrefix(mediaType, "image/") {
		m.info.Lines = int64(bytes.Count(data, []byte("\n")))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			m.info.Lines++
		}
	}
	var at, line int64
	for len(data) > 0 {
		n := min(max(1, size()), len(data))
		m.chunks = append(m.chunks, output.Chunk{FirstByte: at, FirstLine: line, Data: data[:n]})
		at, line, data = at+int64(n), line+int64(bytes.Count(data[:n], []byte("\n"))), data[n:]
	}
	return m
}

func fixed(n int) func() int { return func() int { return n } }

func (m *memory) Info(_ context.Context, tenantID, ref string) (output.Info, error) {
	if tenantID != m.info.TenantID || ref != m.info.Ref {
		return output.Info{}, output.ErrNotFound
	}
	return m.info, nil
}

func (m *memory) Chunks(_ context.Context, _, _ string, from output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		for _, c := range m.chunks {
			lines := int64(bytes.Count(c.Data, []byte("\n")))
			ends := c.Data[len(c.Data)-1] == '\n'
			before := c.FirstByte+int64(len(c.Data)) <= from.Byte ||
				from.Line > 0 && (c.FirstLine+lines < from.Line || c.FirstLine+lines == from.Line && ends)
			if before {
				continue
			}
			m.given += len(c.Data)
			if !yield(c, nil) {
				return
			}
		}
		if m.fail != nil {
			yield(output.Chunk{}, m.fail)
		}
	}
}

func open(t testing.TB, m *memory, pointer string) Text {
	t.Helper()
	text, err := Open(t.Context(), m, "t", "r", pointer)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func split(data string) []string {
	if data == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(data, "\n"), "\n")
}

// naiveLines is Lines on the whole text.
func naiveLines(data string, w Window) (p Page, err error) {
	lines := split(data)
	first := int(max(w.Offset, 1))
	most, spent := LineBytes, 0
	if w.Limit == 1 {
		most = PageBytes
	}
	for i := first - 1; i < len(lines); i++ {
		if w.Limit > 0 && len(p.Lines) == int(w.Limit) {
			p.Next = int64(i + 1)
			return p, nil
		}
		l := Line{Number: int64(i + 1), Text: []byte(strings.TrimSuffix(lines[i], "\r"))}
		if len(l.Text) > most {
			l.Text, l.Cut = naiveCut(l.Text, most), true
		}
		if len(p.Lines) == 0 && cost(l.Text)+lineCost+noticeCost > PageBytes {
			for cost(l.Text)+lineCost+noticeCost > PageBytes {
				l.Text, l.Cut = naiveCut(l.Text, len(l.Text)-1), true
			}
		}
		if len(p.Lines) > 0 && spent+l.cost() > PageBytes {
			p.Next = int64(i + 1)
			return p, nil
		}
		spent += l.cost()
		p.Lines = append(p.Lines, l)
	}
	if len(p.Lines) == 0 && first > 1 {
		return p, ErrPastEnd
	}
	return p, nil
}

func naiveCut(text []byte, n int) []byte {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// naiveGrep is Grep on the whole text.
func naiveGrep(data string, q Query) (f Found) {
	lines := split(data)
	if q.Most == 0 {
		q.Most = MaxMatches
	}
	spent, after, last := 0, 0, int64(0)
	show := func(l Line) bool {
		if spent+l.cost() > PageBytes && len(f.Lines) > 0 {
			f.Next = l.Number
			return false
		}
		f.Lines, spent, last = append(f.Lines, l), spent+l.cost(), l.Number
		return true
	}
	for i := int(max(q.Offset, 1)) - 1; i < len(lines); i++ {
		text := []byte(strings.TrimSuffix(lines[i], "\r"))
		at := []int{bytes.Index(text, q.Pattern.literal), 0}
		if q.Pattern.expr != nil {
			if at = q.Pattern.expr.FindIndex(text); at == nil {
				at = []int{-1, 0}
			}
		} else {
			at[1] = at[0] + len(q.Pattern.literal)
		}
		if at[0] < 0 {
			if after > 0 {
				after--
				if !show(shorten(int64(i+1), text)) {
					return f
				}
			}
			continue
		}
		if f.Matches == q.Most {
			f.Next = int64(i + 1)
			return f
		}
		match := excerpt(int64(i+1), text, at[0], at[1], true)
		match.Match = true
		group := []Line{match}
		for j := i - 1; j >= int(max(q.Offset, 1))-1 && j >= i-q.Before && int64(j+1) > last; j-- {
			group = append([]Line{shorten(int64(j+1), []byte(strings.TrimSuffix(lines[j], "\r")))}, group...)
		}
		size := func() (n int) {
			for _, l := range group {
				n += l.cost()
			}
			return n
		}
		for len(f.Lines) == 0 && len(group) > 1 && size() > PageBytes {
			group = group[1:]
		}
		if spent+size() > PageBytes {
			f.Next = int64(i + 1)
			return f
		}
		for _, l := range group {
			show(l)
		}
		f.Matches++
		after = q.After
	}
	return f
}

func texts(lines []Line) (texts []string) {
	for _, l := range lines {
		texts = append(texts, fmt.Sprintf("%d:%t:%t:%s", l.Number, l.Match, l.Cut, l.Text))
	}
	return texts
}

func sameLines(a, b []Line) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Number != b[i].Number || !bytes.Equal(a[i].Text, b[i].Text) || a[i].Cut != b[i].Cut || a[i].Match != b[i].Match {
			return false
		}
	}
	return true
}

func checkLines(t *testing.T, data string, size func() int, w Window) {
	t.Helper()
	got, err := open(t, newMemory("text/plain", []byte(data), size), "").Lines(w)
	want, wantErr := naiveLines(data, w)
	if !errors.Is(err, wantErr) || !sameLines(got.Lines, want.Lines) || got.Next != want.Next {
		t.Errorf("%.200q %+v:\ngot  %.400q, next %d, %v\nwant %.400q, next %d, %v", data, w, texts(got.Lines), got.Next, err, texts(want.Lines), want.Next, wantErr)
	}
	for _, l := range got.Lines {
		if l.Cut && !strings.HasPrefix(data[l.At-int64(len(l.Text)):], string(l.Text)) {
			t.Errorf("line %d: the rest does not begin at %d", l.Number, l.At)
		}
	}
}

func checkGrep(t *testing.T, data string, size func() int, q Query) {
	t.Helper()
	got, err := open(t, newMemory("text/plain", []byte(data), size), "").Grep(q)
	want := naiveGrep(data, q)
	if err != nil || !sameLines(got.Lines, want.Lines) || got.Next != want.Next || got.Matches != want.Matches {
		t.Errorf("%.200q %q %v %d %d %d %d:\ngot  %.400q, %d, next %d, %v\nwant %.400q, %d, next %d", data, q.Pattern.literal, q.Pattern.expr, q.Before, q.After, q.Most, q.Offset,
			texts(got.Lines), got.Matches, got.Next, err, texts(want.Lines), want.Matches, want.Next)
	}
}

// FuzzLines: a page is that of the whole text, however the text is cut into chunks.
func FuzzLines(f *testing.F) {
	long := strings.Repeat("ä", 3000)
	for _, data := range []string{"", "\n", "a", "a\n", "a\r\nb\r\n", "\n\n\n", "ä€😀\nb", long, "x\n" + long + "\ny", long + "\r\n" + long, strings.Repeat("x", LineBytes) + "\r\ny",
		strings.Repeat("x", LineBytes) + "\ry\nz", strings.Repeat("a line\n", 3000), strings.Repeat("\x01", 4000), "\xff\xfe\n"} {
		for _, offset := range []int64{0, 1, 2, 3, 2000} {
			f.Add(data, offset, int64(0), uint64(1))
			f.Add(data, offset, int64(1), uint64(2))
			f.Add(data, offset, int64(2), uint64(3))
		}
	}
	f.Fuzz(func(t *testing.T, data string, offset, limit int64, seed uint64) {
		if !utf8.ValidString(data) || offset < 0 || limit < 0 {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		for _, most := range []int{1, 7, 5000} {
			checkLines(t, data, func() int { return 1 + random.IntN(most) }, Window{Offset: offset, Limit: limit})
		}
	})
}

// FuzzGrep: a search finds what a search in the whole text finds.
func FuzzGrep(f *testing.F) {
	many := strings.Repeat("one\ntwo\nthree x\n", 400)
	for _, data := range []string{"", "x", "x\n", "a\nx\nb\n", "a\r\nx\r\nb", "xx\nx\n\nx", many, strings.Repeat("y", 700) + "x" + strings.Repeat("z", 700) + "\nx", "ab\nxab\nab"} {
		for i, pattern := range []string{"x", "ab", "^x", "x$", "a|x", "", "three"} {
			f.Add(data, pattern, i%2 == 0, uint8(i%4), uint8(i%3), uint8(i), int64(i%3), uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, data, pattern string, isRegex bool, before, after, limit uint8, offset int64, seed uint64) {
		p, err := NewPattern(pattern, isRegex)
		if err != nil || len(data) > 32<<10 || offset < 0 {
			return
		}
		q := Query{Pattern: p, Before: int(before % 21), After: int(after % 21), Most: int(limit % 101), Offset: offset}
		random := rand.New(rand.NewPCG(seed, 1))
		for _, size := range []int{1, 7, 5000} {
			checkGrep(t, data, func() int { return 1 + random.IntN(size) }, q)
		}
	})
}

// TestRandomTexts runs the comparisons on texts of many short lines, without a fuzzer.
func TestRandomTexts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString([]string{"a", "b", "ab", "\n", "\n", "\r\n", "ä", "😀", strings.Repeat("c", r.IntN(3000))}[r.IntN(9)])
		}
		size := func() int { return 1 + r.IntN(1+int(seed)) }
		checkLines(t, b.String(), size, Window{Offset: int64(r.IntN(8)), Limit: int64(r.IntN(5))})
		p, err := NewPattern([]string{"a", "ab", "^a", "b$", "[ab]+", "cc", "ä"}[r.IntN(7)], r.IntN(2) == 0)
		if err != nil {
			t.Fatal(err)
		}
		checkGrep(t, b.String(), size, Query{Pattern: p, Before: r.IntN(4), After: r.IntN(4), Most: r.IntN(4), Offset: int64(r.IntN(4))})
	}
}

// TestPatterns: patterns are refused with errors that do not quote them.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		regex   bool
		want    error
	}{
		{"", false, ErrPatternSize},
		{strings.Repeat("x", MaxPattern+1), false, ErrPatternSize},
		{"a\nb", false, ErrPatternLines},
		{"(secret", true, ErrBadPattern},
		{"(?=secret)", true, ErrBadPattern},
		{"(ab?){600}", true, ErrComplexPattern},
		{"(", false, nil},
	} {
		if _, err := NewPattern(c.pattern, c.regex); !errors.Is(err, c.want) || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %v", c.pattern, err)
		}
	}
}
