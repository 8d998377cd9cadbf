package read

import (
	"bytes"
	"strings"
	"testing"
)

// big is a text of about 64 MiB.
var big = func() []byte {
	line := []byte("2026-11-25T15:00:00Z worker info message id=12345678 duration=12ms state=done\n")
	return bytes.Repeat(line, 64<<20/len(line))
}

func BenchmarkGrepLiteral(b *testing.B) { benchmarkGrep(b, "needle in a haystack", false) }

func BenchmarkGrepFrequent(b *testing.B) { benchmarkGrep(b, "state=failed", false) }

func BenchmarkGrepRegex(b *testing.B) { benchmarkGrep(b, `id=\d+ duration=\d\d\ds`, true) }

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
