package codectest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// maxSeed bounds a fixture that is a seed, in bytes. With long seeds, the fuzzer would spend its
// time on minimising inputs.
const maxSeed = 1500

// Fuzz seeds f with the fixtures and checks for any input, whole and streamed in
// pieces of any size: no crash, the same calls however it is cut, and no call
// that may run but was not in the input.
func Fuzz(f *testing.F, codec wire.Codec) {
	f.Helper()
	for _, fixture := range Fixtures(f) {
		if seed := slices.Concat(fixture.Response, fixture.Stream); len(seed) <= maxSeed {
			f.Add(seed, byte(7))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		given := bytes.Clone(data)
		r, err := codec.Decode(given)
		clear(given)
		Show(t, r, err)
		if len(data) > 1<<16 {
			return // the oracle below is slow
		}
		known := stringsOf(data)
		checkFromInput(t, data, known, r)
		whole := Read(t, codec, data)
		cut := Read(t, codec, slices.Collect(slices.Chunk(data, int(size)+1))...)
		same(t, "in pieces of", int(size)+1, cut, whole)
		s := codec.Stream()
		_, _ = s.Write(data)
		streamed, _ := s.End()
		checkFromInput(t, data, known, streamed)
	})
}

// checkFromInput checks that all text of the calls that may run comes from the input. A name consists of strings of the
// input, joined in their order. Arguments are a part of the input, or such strings. known are the strings of the input.
func checkFromInput(t *testing.T, data []byte, known []string, r wire.Response) {
	t.Helper()
	// The input may have the two halves of a surrogate pair in two strings. Joined, they give a
	// character that neither string has.
	if bytes.Contains(bytes.ToLower(data), []byte(`\ud`)) {
		return
	}
	var joined []byte
	var events frame.Events
	_ = events.Write(data, func(_, data []byte) error { joined = append(joined, data...); return nil })
	if _, rest, ok := events.Rest(); ok {
		joined = append(joined, rest...)
	}
	for _, c := range r.Calls {
		if c.Fault != "" {
			continue
		}
		if !made(c.Name, known) {
			t.Errorf("the name %q was not in the input %q", c.Name, data)
		}
		if len(c.Args) > 0 && !bytes.Contains(data, c.Args) && !bytes.Contains(joined, c.Args) && !made(string(c.Args), known) {
			t.Errorf("the arguments %q were not in the input %q", c.Args, data)
		}
	}
}

// made reports whether text consists of some of the pieces, joined in their order.
func made(text string, pieces []string) bool {
	reached := make([]bool, len(text)+1)
	reached[0] = true
	for _, p := range pieces {
		if p == "" || len(p) > len(text) {
			continue
		}
		for at := len(text) - len(p); at >= 0; at-- {
			if reached[at] && strings.HasPrefix(text[at:], p) {
				reached[at+len(p)] = true
			}
		}
	}
	return reached[len(text)]
}

// stringsOf finds every string of the JSON in data with a reader of its own: from
// each quote to the next one without an escape. No string goes over a line end.
func stringsOf(data []byte) (found []string) {
	for i := range data {
		if data[i] != '"' {
			continue
		}
		for end := i + 1; end < len(data); end++ {
			if data[end] == '\\' {
				end++
				continue
			}
			if data[end] != '"' {
				continue
			}
			var text string
			if json.Unmarshal(data[i:end+1], &text) == nil {
				found = append(found, text)
			}
			break
		}
	}
	return found
}
