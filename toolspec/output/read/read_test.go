package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// TestPointers: the value at a pointer is shown as text, without the rest of the document.
func TestPointers(t *testing.T) {
	t.Parallel()
	const document = `{"text":"one\ntwo\r\n\u0000three ä\ud83d\ude00","list":[1,{"a/b":{"m~n":[true,null,1.50,"x"]}},[]],"":{"":7},"end":{}}`
	for pointer, want := range map[string]string{
		"/text":               "one|two|\x00three ä😀",
		"/list/0":             "1",
		"/list/1/a~1b/m~0n":   "[|  true,|  null,|  1.50,|  \"x\"|]",
		"/list/1/a~1b/m~0n/3": "x",
		"/list/2":             "[]",
		"/":                   "{|  \"\": 7|}",
		"//":                  "7",
		"/end":                "{}",
	} {
		for _, size := range []int{1, 5, 1000} {
			page, err := open(t, newMemory("application/json", []byte(document), fixed(size)), pointer).Lines(Window{})
			if err != nil {
				t.Fatal(pointer, err)
			}
			var got []string
			for _, l := range page.Lines {
				got = append(got, string(l.Text))
			}
			if strings.Join(got, "|") != want {
				t.Errorf("%s: %q, want %q", pointer, strings.Join(got, "|"), want)
			}
		}
	}
	m := newMemory("application/json", []byte(document), fixed(3))
	for pointer, want := range map[string]error{
		"/none": ErrNoValue, "/list/3": ErrNoValue, "/list/01": ErrNoValue, "/list/-": ErrNoValue, "/text/0": ErrNoValue, "list": ErrBadPointer, "/a~2": ErrBadPointer, "/list/~": ErrBadPointer,
	} {
		if _, err := Open(t.Context(), m, "t", "r", pointer); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", pointer, err, want)
		}
	}
	if _, err := Open(t.Context(), newMemory("text/plain", []byte(`{"a":1}`), fixed(3)), "t", "r", "/a"); !errors.Is(err, ErrNotJSON) {
		t.Error(err)
	}
	for _, bad := range []string{`{"a":`, `{"a" 1}`, `x`, `{"a":"`} {
		text, err := Open(t.Context(), newMemory("application/json", []byte(bad), fixed(3)), "t", "r", "/a")
		if err == nil {
			_, err = text.Lines(Window{})
		}
		if !errors.Is(err, ErrNotJSON) {
			t.Errorf("%s: %v", bad, err)
		}
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

// TestForms: a JSON value of one line is shown as its text or indented, other outputs as they are.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mediaType, data, want string
		incomplete            bool
	}{
		{"application/json", `"a\nb"`, "a|b", false},
		{"application/json", `{"a":[1]}`, `{|  "a": [|    1|  ]|}`, false},
		{"application/json", "{\"a\":\n[1]}", `{"a":|[1]}`, false},
		{"application/json", `{"a":[1]`, `{"a":[1]`, true},
		{"text/plain", `"a\nb"`, `"a\nb"`, false},
		{"application/x-log", "a\nb", "a|b", false},
		{"text/plain", "", "", false},
		{"application/json", "", "", false},
	} {
		m := newMemory(c.mediaType, []byte(c.data), fixed(2))
		m.info.Complete = !c.incomplete
		page, err := open(t, m, "").Lines(Window{})
		var got []string
		for _, l := range page.Lines {
			got = append(got, string(l.Text))
		}
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s %s: %q, %v", c.mediaType, c.data, got, err)
		}
	}
	if _, err := Open(t.Context(), newMemory("image/png", []byte("\x89PNG\n"), fixed(2)), "t", "r", ""); !errors.Is(err, ErrNotText) {
		t.Errorf("an image: %v", err)
	}
	// A binary stream has no lines, whatever its tool calls it.
	for _, mediaType := range []string{"text/csv", "application/json"} {
		m := newMemory(mediaType, bytes.Repeat([]byte("a line\n"), maxIndented/7+1), fixed(1<<20))
		m.info.Lines = 0
		if _, err := Open(t.Context(), m, "t", "r", ""); !errors.Is(err, ErrNotText) {
			t.Errorf("a binary stream that is called %s: %v", mediaType, err)
		}
		m.info.Complete = false
		if _, err := Open(t.Context(), m, "t", "r", ""); (err == nil) != (mediaType == "text/csv") {
			t.Errorf("a stream of %s that is being written: %v", mediaType, err)
		}
	}
	if _, err := Open(t.Context(), newMemory("text/plain", nil, nil), "other", "r", ""); !errors.Is(err, output.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
}

// TestBytes: slices together are the output, and a reader reads it to its error.
func TestBytes(t *testing.T) {
	t.Parallel()
	data := []byte(strings.Repeat("0123456789", 100))
	m := newMemory("image/png", data, fixed(7))
	var got []byte
	for at := int64(0); ; {
		s, err := Bytes(t.Context(), m, "t", "r", at, 33)
		if err != nil || s.At != at {
			t.Fatal(s.At, err)
		}
		got = append(got, s.Data...)
		if at = s.Next; at == 0 {
			break
		}
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%q", got)
	}
	for _, at := range []int64{-1, 1000, 1001} {
		if _, err := Bytes(t.Context(), m, "t", "r", at, 33); !errors.Is(err, ErrPastEnd) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	m.fail = output.ErrExpired
	in := NewReader(t.Context(), m, "t", "r", 13)
	got, err := io.ReadAll(in)
	if !bytes.Equal(got, data[13:]) || !errors.Is(err, output.ErrExpired) || in.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := open(t, newMemory("text/plain", nil, nil), "").Lines(Window{Offset: 2}); !errors.Is(err, ErrPastEnd) {
		t.Error(err)
	}
}

// big is a text of about 64 MiB.
var big = func() []byte {
	line := []byte("2026-11-25T15:00:00Z worker info message id=12345678 duration=12ms state=done\n")
	return bytes.Repeat(line, 64<<20/len(line))
}

func BenchmarkGrepLiteral(b *testing.B)  { benchmarkGrep(b, "needle in a haystack", false) }
func BenchmarkGrepFrequent(b *testing.B) { benchmarkGrep(b, "state=failed", false) }
func BenchmarkGrepRegex(b *testing.B)    { benchmarkGrep(b, `id=\d+ duration=\d\d\ds`, true) }

func benchmarkGrep(b *testing.B, pattern string, isRegex bool) {
	data := big()
	p, err := NewPattern(pattern, isRegex)
	if err != nil {
		b.Fatal(err)
	}
	text := open(b, newMemory("text/plain", data, fixed(512<<10)), "")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if found, err := text.Grep(Query{Pattern: p, Before: 2, After: 2}); err != nil || found.Matches > 0 {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	text := open(b, newMemory("text/plain", big(), fixed(512<<10)), "")
	for b.Loop() {
		if page, err := text.Lines(Window{Offset: 800_000, Limit: 100}); err != nil || len(page.Lines) != 100 {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormed(b *testing.B) {
	data := []byte("[" + strings.Repeat(`{"id":12345678,"name":"a name"},`, 1<<19) + "{}]")
	text := open(b, newMemory("application/json", data, fixed(512<<10)), "")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := text.Lines(Window{Offset: 2_000_000}); err != nil {
			b.Fatal(err)
		}
	}
}
