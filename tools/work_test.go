package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// words returns n random words of k letters.
func words(n, k int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]string, n)
	for i := range all {
		word := make([]byte, k)
		for j := range word {
			word[j] = byte('a' + random.IntN(26))
		}
		all[i] = string(word)
	}
	return all
}

// TestOrdinaryPatterns: what people and models search for compiles, at a cost far from that of a chain of options.
func TestOrdinaryPatterns(t *testing.T) {
	many := words(300, 2)
	for _, c := range []struct {
		pattern    string
		ignoreCase bool
		line       string
		most       int64 // instructions
	}{
		{`\bfoo\w+\s*\(`, false, "x = fooBar (1)", 15},
		{`func (\(\w+ \*?\w+\) )?Test[A-Z]\w*\(t \*testing\.T\)`, false, "func TestGrep(t *testing.T) {", 60},
		{`error|warn(ing)?|fatal`, true, "WARNING: low on disk", 40},
		{`\p{Lu}\p{Ll}+ \p{Han}+`, false, "Name 漢字", 15},
		{`(?i)straße|naïve`, false, "STRASSE? no, Straße", 30},
		{`^\s*(public|private|protected)\s+(static\s+)?\w+\s+\w+\(`, false, "  public static void main(", 60},
		{`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,24}\b`, false, "to: a.b@example.com", 80},
		{`\b(?:\d{1,3}\.){3}\d{1,3}\b`, false, "at 127.0.0.1", 60},
		{`[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`, false, "id 01234567-89ab-cdef-0123-456789abcdef", 60},
		{`TODO.{0,100}(owner|date)`, false, "TODO: who is the owner", 250},
		{`\b\w{64,256}\b`, false, strings.Repeat("f", 64), 600},
		{strings.Join(words(140, 6), "|"), false, "a " + words(140, 6)[139], maxProgram},
		{strings.Join(words(140, 6), "|"), true, "a " + strings.ToUpper(words(140, 6)[139]), maxProgram},
		{strings.Join(many, "|"), false, many[299], maxProgram},
	} {
		p, err := newPattern(c.pattern, true, c.ignoreCase)
		if err != nil {
			t.Errorf("%.60q: %v", c.pattern, err)
			continue
		}
		if from, _, _ := p.find([]byte(c.line)); from < 0 {
			t.Errorf("%.60q does not match %q", c.pattern, c.line)
		}
		if p.program > c.most {
			t.Errorf("%.60q has %d instructions, want at most %d", c.pattern, p.program, c.most)
		}
	}
}

// copies are endlessly many files with the same text.
type copies struct {
	capability.Files
	text []byte
}

func (c copies) Walk(_ context.Context, _ string, _ capability.WalkOptions, visit func(capability.Found) error) error {
	for {
		if err := visit(file(c.text)); err != nil {
			return err
		}
	}
}

// file is one with a text.
type file []byte

func (f file) Path() string                    { return "file" }
func (f file) Err() error                      { return nil }
func (f file) Stat() (capability.Entry, error) { return capability.Entry{}, nil }
func (f file) Open() (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(f)), int64(len(f)), nil
}

// cost is what the search of text costs by the definition of work, written a second time: instructions times bytes for every line that
// the expression is run on. It returns the number of matching lines too.
func cost(pattern string, text []byte) (work int64, total int) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, 0
	}
	expr := regexp.MustCompile(pattern)
	prefix, _ := expr.LiteralPrefix()
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if !bytes.Contains(line, []byte(prefix)) {
			continue
		}
		if len(line) > 16<<10 {
			line = line[:read.RuneStart(line, 16<<10)]
		}
		work += int64(len(program.Inst)) * int64(len(line))
		if expr.Match(line) {
			total++
		}
	}
	return work, total
}

// FuzzSearchWork: for any pattern and any text the search ends within its budget of work, has accounted for every file that it searched, and
// finds what a plain loop over the lines finds.
func FuzzSearchWork(f *testing.F) {
	f.Add(`(?:a?){300}a{300}b`, strings.Repeat("a", 16<<10))
	f.Add(`(?:\pL?){498}z`, strings.Repeat("ä", 8<<10))
	f.Add(`\bfoo\w+\s*\(`, "x = fooBar (1)\r\nfoo\n")
	f.Add(`x*`, strings.Repeat("\n", 1000))
	f.Add(`(?i)straße`, "STRASSE\nStraße\n")
	f.Add(`^(a|b|ab)*c$`, strings.Repeat("ab", 100)+"c")
	f.Add(`foo(?:x{10}){10}`, strings.Repeat("foo", 30_000))
	f.Add(`é{2,}`, "\xe9\xe9\n\xc3\xa9\xc3\xa9")
	f.Fuzz(func(t *testing.T, text, content string) {
		if len(text) > 1000 || len(content) > scanBlock || strings.Contains(content, "\x00") {
			return
		}
		p, err := newPattern(text, true, false)
		if err != nil {
			if !errors.Is(err, errBadRegex) && !errors.Is(err, errTooLarge) {
				t.Fatalf("the pattern is refused with: %v", err)
			}
			return
		}
		began := time.Now()
		s := newSearch(copies{text: []byte(content)}, p)
		s.budget, s.maxFiles = 1<<18, 10_000
		if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil {
			t.Fatal(err)
		}
		if s.work.Load() > s.budget || s.stopped == "" || s.remark() == "" {
			t.Errorf("work %d of %d, stopped by %q", s.work.Load(), s.budget, s.stopped)
		}
		work, total := cost(text, []byte(content))
		if whole := int64(s.searched - 1); s.work.Load() < whole*work {
			t.Errorf("%d files of work %d each are accounted as %d", whole, work, s.work.Load())
		}
		if s.searched > 1 && (s.total < (s.searched-1)*total || s.total > s.searched*total) {
			t.Errorf("%d lines match in %d files, and %d match in one", s.total, s.searched, total)
		}
		// A unit takes at most 10 ns here. This finds a search that does not stop, and no slow machine.
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestSearchWork: the budget stops a search in the middle of a file, with what it found until then.
func TestSearchWork(t *testing.T) {
	line := strings.Repeat("a", 1000) + "\n"
	p, err := newPattern(`(?:a?){100}b|^a`, true, false)
	if err != nil {
		t.Fatal(err)
	}
	perLine := p.work([]byte(line[:1000])) + lineWork
	s := newSearch(copies{text: []byte(strings.Repeat(line, 100))}, p)
	s.budget = 100*1001/scanWork + 30*perLine + perLine/2
	if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.total != 30 || s.searched != 1 || s.stopped != limitWork || s.remark() != string(limitWork) {
		t.Errorf("%d matches in %d files; %q", s.total, s.searched, s.remark())
	}
	// Work that was taken from the budget and not done is given back.
	s = newSearch(copies{text: []byte("x\n")}, pattern{literal: []byte("y")})
	s.maxFiles = 3 * s.budget / spendAtOnce
	if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil || s.stopped != limitFiles {
		t.Errorf("%d small files: %q, %v", s.searched, s.remark(), err)
	}
	// The end of the call is seen between two lines.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = newSearch(copies{text: []byte(line)}, p)
	if err := s.run(ctx, ".", capability.WalkOptions{}); !errors.Is(err, context.Canceled) || s.total != 0 {
		t.Errorf("cancelled: %v after %d files", err, s.searched)
	}
	if got := fmt.Sprint(limitFiles, limitBytes, limitTime); !strings.Contains(got, fmt.Sprint(searchFiles)) ||
		!strings.Contains(got, fmt.Sprint(searchBytes>>30, " GiB")) || !strings.Contains(got, fmt.Sprint(searchTime.Seconds(), " seconds")) {
		t.Errorf("the limits are not those that the caller is told: %s", got)
	}
}

// TestSearchLimits: at and above the files and bytes that a search takes.
func TestSearchLimits(t *testing.T) {
	three := someFiles{texts: [][]byte{[]byte("hit\n"), []byte("hit\n"), []byte("é hit\n")}}
	for _, c := range []struct {
		files, bytes int64
		total        int
		stopped      searchLimit
	}{
		{3, 100, 3, ""}, {2, 100, 2, limitFiles}, {4, 15, 3, ""}, {4, 14, 2, limitBytes},
	} {
		s := newSearch(three, pattern{literal: []byte("hit")})
		s.maxFiles, s.maxBytes = c.files, c.bytes
		if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil || s.total != c.total || s.stopped != c.stopped {
			t.Errorf("%+v: %d found, %q, %v", c, s.total, s.stopped, err)
		}
	}
}

// someFiles are files that a walk visits one after the other.
type someFiles struct {
	capability.Files // nil: a search only walks
	texts            [][]byte
}

func (s someFiles) Walk(_ context.Context, _ string, _ capability.WalkOptions, visit func(capability.Found) error) error {
	for _, text := range s.texts {
		if err := visit(file(text)); err != nil {
			return err
		}
	}
	return nil
}

// TestSearchInBlocks: wherever the blocks of a file end, a search finds what a plain loop over the lines
// finds, with the lines around it.
func TestSearchInBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		var text []byte
		for len(text) < 2*scanBlock+scanBlock/2 {
			line := bytes.Repeat([]byte("é"), random.IntN(1+1<<random.IntN(17)))
			if random.IntN(10) == 0 {
				line = append(line, "hit"...)
			}
			text = append(append(text, line...), '\n')
		}
		text = text[:len(text)-random.IntN(4)]
		before, after := random.IntN(6), random.IntN(6)
		p := pattern{literal: []byte("hit")}
		if round%2 == 1 {
			p, _ = newPattern("(?:h)it$", true, false)
		}
		s := newSearch(someFiles{texts: [][]byte{text}}, p)
		s.before, s.after = before, after
		if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		total, i := 0, 0
		for n, line := range lines {
			at := bytes.Index(line, []byte("hit"))
			if at < 0 || p.expr != nil && at+3 > maxLine {
				continue
			}
			if total++; total > grepWhole {
				continue
			}
			m := s.matches[i]
			i++
			want := grepMatch{Path: "file", Line: n + 1, Text: excerpt(line, at, at+3)}
			for _, around := range lines[max(0, n-before):n] {
				want.Before = append(want.Before, aroundText(around))
			}
			for _, around := range lines[n+1 : min(n+1+after, len(lines))] {
				want.After = append(want.After, aroundText(around))
			}
			// Lines before a block are kept as far as they fit.
			short := len(want.Before) - len(m.Before)
			if short < 0 || short > 0 && before == 0 {
				t.Fatalf("round %d, line %d: %d lines before, want %d", round, n+1, len(m.Before), len(want.Before))
			}
			want.Before = want.Before[short:]
			if len(want.Before) == 0 {
				want.Before = nil
			}
			if !reflect.DeepEqual(m, want) {
				t.Fatalf("round %d (%d before, %d after):\n%+v, want\n%+v", round, before, after, m, want)
			}
		}
		if s.total != total {
			t.Fatalf("round %d: %d matches, want %d", round, s.total, total)
		}
	}
}

// TestSearchLongLines: below, at and above the part of a line that is searched.
func TestSearchLongLines(t *testing.T) {
	for _, c := range []struct {
		length      int // of the line that ends with the match, in bytes
		total, long int
	}{
		{scanBlock - 1, 2, 0}, {scanBlock, 2, 1}, {scanBlock + 1, 1, 1}, {3*scanBlock + 5, 1, 1},
	} {
		line := bytes.Repeat([]byte("é"), c.length/2)
		line = append(line[len(line)-(c.length-3)/2*2:], "hit"...)
		for len(line) < c.length {
			line = append([]byte("x"), line...)
		}
		for _, end := range []string{"", "\n"} {
			text := slices.Concat([]byte("é\n"), line, []byte("\nhit é"), []byte(end))
			s := newSearch(someFiles{texts: [][]byte{text}}, pattern{literal: []byte("hit")})
			if err := s.run(t.Context(), ".", capability.WalkOptions{}); err != nil || s.total != c.total || s.long.Load() != int64(c.long) {
				t.Errorf("%d bytes: %d found, %d long lines, %v", c.length, s.total, s.long.Load(), err)
				continue
			}
			if m := s.matches[len(s.matches)-1]; m.Line != 3 || m.Text != "hit é" {
				t.Errorf("%d bytes: the last match is %+v", c.length, m)
			}
			if long := strings.Contains(s.remark(), "1 lines are longer than 1 MiB"); long != (c.long > 0) {
				t.Errorf("%d bytes: %q", c.length, s.remark())
			}
		}
	}
}

// BenchmarkFindWorst measures a unit of work on the slowest instructions.
func BenchmarkFindWorst(b *testing.B) {
	p, err := newPattern(`(?:\pL?){498}z`, true, false)
	if err != nil {
		b.Fatal(err)
	}
	line := bytes.Repeat([]byte("a"), maxLine)
	for b.Loop() {
		p.find(line)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.work(line)), "ns/unit")
}
