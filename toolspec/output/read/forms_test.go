package read

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/output"
)

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
