package frame_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// events reads a stream in the pieces that it is given in; behind a bar stands
// what Rest gives.
func events(t *testing.T, pieces ...string) []string {
	t.Helper()
	var e frame.Events
	var got []string
	for _, p := range pieces {
		if err := e.Write([]byte(p), func(name, data []byte) error {
			got = append(got, fmt.Sprintf("%s:%s", name, data))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if name, data, ok := e.Rest(); ok {
		got = append(got, fmt.Sprintf("|%s:%s", name, data))
	}
	return got
}

// TestEvents reads streams by the rules of WHATWG HTML, whole, cut at each place,
// and byte by byte.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"LF", "data: a\n\ndata: b\n\n", []string{":a", ":b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{":a", ":b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{":a", ":b"}},
		{"all three", "data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", []string{":a", ":b", ":c"}},
		{"named", "event: one\ndata: a\n\nevent: two\ndata: b\n\n", []string{"one:a", "two:b"}},
		{"a name counts for its own event", "event: one\ndata: a\n\ndata: b\n\n", []string{"one:a", ":b"}},
		{"a name behind its data", "data: a\nevent: one\n\n", []string{"one:a"}},
		{"the last name counts", "event: one\nevent: two\ndata: a\n\n", []string{"two:a"}},
		{"several lines", "data: a\ndata: b\ndata\ndata:\ndata: c\n\n", []string{":a\nb\n\n\nc"}},
		{"several lines, CRLF", "data: a\r\ndata: b\r\n\r\n", []string{":a\nb"}},
		{"an empty line of data", "data\n\n", []string{":"}},
		{"no data", "event: one\n\ndata: a\n\n", []string{":a"}},
		{"blank lines", "\n\n\ndata: a\n\n\n\n", []string{":a"}},
		{"comments", ": keep-alive\n\n:\ndata: a\n: b\n\n", []string{":a"}},
		{"other fields", "id: 7\nretry: 3000\nfoo: bar\nDATA: x\n data: y\ndata: a\n\n", []string{":a"}},
		{"one space does not count", "data:a\n\ndata:  b\n\ndata: c \n\n", []string{":a", ": b", ":c "}},
		{"colons in the value", "data: a:b: c\n\n", []string{":a:b: c"}},
		{"a byte order mark", "\ufeffdata: a\n\n", []string{":a"}},
		{"a second one is a name", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []string{":b"}},
		{"one further on", "data: a\n\n\ufeffdata: b\n\n", []string{":a"}},
		{"the blank line is missing", "data: a\n\nevent: x\ndata: 1\n", []string{":a", "|x:1"}},
		{"the line end is missing", "data: a\n\ndata: [1,\ndata: 2]", []string{":a", "|:[1,\n2]"}},
		{"a field that was cut", "data: a\n\ndata: 1\nda", []string{":a", "|:1"}},
		{"data that were cut", "data: a\n\ndata: [1", []string{":a"}},
		{"nothing open", "data: a\n\nevent: x", []string{":a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := events(t, tc.stream); !slices.Equal(got, tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for cut := range len(tc.stream) {
				if got := events(t, tc.stream[:cut], tc.stream[cut:]); !slices.Equal(got, tc.want) {
					t.Errorf("cut at %d: got %q, want %q", cut, got, tc.want)
				}
			}
			if got := events(t, strings.Split(tc.stream, "")...); !slices.Equal(got, tc.want) {
				t.Errorf("byte by byte: got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestEventsStop: the first error ends the work, and so does the size.
func TestEventsStop(t *testing.T) {
	t.Parallel()
	var e frame.Events
	stop, seen := errors.New("stop"), 0
	err := e.Write([]byte("data: a\n\ndata: b\n\n"), func(_, _ []byte) error { seen++; return stop })
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("got %v after %d events", err, seen)
	}
	// A line that never ends is held once and no longer than the bound.
	e = frame.Events{}
	piece := []byte(strings.Repeat("x", 1<<20))
	for i := 0; ; i++ {
		if err = e.Write(piece, nil); err != nil {
			if i != wire.MaxResponse>>20 {
				t.Errorf("refused at MiB %d", i)
			}
			break
		}
	}
	if !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func lines(t *testing.T, pieces ...string) []string {
	t.Helper()
	var l frame.Lines
	var got []string
	for _, p := range pieces {
		if err := l.Write([]byte(p), func(line []byte) error { got = append(got, string(line)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if rest, ok := l.Rest(); ok {
		got = append(got, "|"+string(rest))
	}
	return got
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"LF", "{}\n[]\n", []string{"{}", "[]"}},
		{"CRLF and blank lines", "{}\r\n\r\n \n\t[] \r\n", []string{"{}", "[]"}},
		{"the last without an end", "{}\n[] ", []string{"{}", "|[]"}},
		{"the last was cut", "{}\n[", []string{"{}"}},
		{"blank at the end", "{}\n  ", []string{"{}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for cut := range len(tc.stream) + 1 {
				if got := lines(t, tc.stream[:cut], tc.stream[cut:]); !slices.Equal(got, tc.want) {
					t.Errorf("cut at %d: got %q, want %q", cut, got, tc.want)
				}
			}
			if got := lines(t, strings.Split(tc.stream, "")...); !slices.Equal(got, tc.want) {
				t.Errorf("byte by byte: got %q, want %q", got, tc.want)
			}
		})
	}
	var l frame.Lines
	if err := l.Write(make([]byte, wire.MaxResponse+1), nil); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
