package codectest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// View is a Response as a fixture shows it.
type View struct {
	Calls   []CallView        `json:"calls,omitempty"`
	Finish  wire.Finish       `json:"finish,omitempty"`
	Native  string            `json:"native,omitempty"`
	Text    string            `json:"text,omitempty"`
	Message json.RawMessage   `json:"message,omitempty"`
	Passed  []json.RawMessage `json:"passed,omitempty"`
	Others  int               `json:"others,omitempty"`
	// Usage is [input, cache read, cache write, output, reasoning], and absent if the provider sent none.
	Usage []int64 `json:"usage,omitempty"`
	// Error is the error of Decode or End, and Refused the error of Write.
	Error   string `json:"error,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// CallView is a Call; Args are a text, and absent if there were none.
type CallView struct {
	ID    string        `json:"id,omitempty"`
	Name  string        `json:"name"`
	Args  *string       `json:"args,omitempty"`
	Fault toolspec.Code `json:"fault,omitempty"`
}

// Show makes a View and checks what holds for every response.
func Show(t testing.TB, r wire.Response, err error) View {
	t.Helper()
	v := View{Finish: r.Finish, Native: r.Native, Text: r.Text, Message: r.Message, Passed: r.Passed, Others: r.Others}
	if u := r.Usage; u.Reported {
		v.Usage = []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
	} else if u != (wire.Usage{}) {
		t.Errorf("a usage that the provider did not send: %+v", u)
	}
	if err != nil {
		v.Error = err.Error()
	}
	for i, c := range r.Calls {
		if c.Index != i {
			t.Errorf("call %d has the index %d", i, c.Index)
		}
		if c.Args != nil && len(c.Args) == 0 {
			t.Errorf("call %d: arguments that are empty and not nil", i)
		}
		if len(c.Raw) > 0 && !json.Valid(c.Raw) {
			t.Errorf("call %d: Raw is not JSON: %s", i, c.Raw)
		}
		view := CallView{ID: c.ID, Name: c.Name, Fault: c.Fault}
		if c.Args != nil {
			args := string(c.Args)
			view.Args = &args
		}
		v.Calls = append(v.Calls, view)
		if r.Finish == wire.FinishCut && c.Fault == "" && err == nil {
			t.Errorf("call %d may run, and the response was cut", i)
		}
	}
	// AG-05: there are calls exactly where the model stopped for them.
	if (r.Finish == wire.FinishCalls) != (len(r.Calls) > 0) && r.Finish != wire.FinishCut && r.Finish != "" {
		t.Errorf("%d calls, and the finish is %s", len(r.Calls), r.Finish)
	}
	if len(r.Message) > 0 && !json.Valid(r.Message) {
		t.Errorf("Message is not JSON: %s", r.Message)
	}
	return v
}

// SameJSON compares two JSON texts: members in any order, none more, none less.
func SameJSON(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !reflect.DeepEqual(tree(t, got), tree(t, want)) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, indent(got), indent(want))
	}
}

func tree(t testing.TB, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return v
}

func indent(text []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSpace(text), "", "  ") != nil {
		return text
	}
	return out.Bytes()
}

// Encode writes a View as a fixture has it.
func (v View) Encode(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Object is a request with these members.
func Object(t testing.TB, members []wire.Member) []byte {
	t.Helper()
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '"'), m.Name...)
		out = append(append(out, `":`...), m.Value...)
	}
	return append(out, '}')
}

// readSize is how much a client reads of a body at once.
const readSize = 4 << 10

// Benchmark decodes a stream with so many calls, read as a client reads a body.
func Benchmark(b *testing.B, codec wire.Codec, stream []byte, calls int) {
	b.Helper()
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		s := codec.Stream()
		for piece := range slices.Chunk(stream, readSize) {
			if _, err := s.Write(piece); err != nil {
				b.Fatal(err)
			}
		}
		r, err := s.End()
		if err != nil || len(r.Calls) != calls || r.Finish != wire.FinishCalls {
			b.Fatalf("%d calls, %s, %v", len(r.Calls), r.Finish, err)
		}
	}
}
