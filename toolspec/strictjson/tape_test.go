package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The tape takes exactly what the reader of a library takes, and finds the same fault first.
func FuzzTape(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x\u00e9\n"],"b":{}}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `01`, `-`, `1.`, `1e`, `[1,]`, `{"a":1,}`,
		`{,}`, "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"", ` 1 `, `1 2`, `1e400`, `1e-400`, `0e999`, strings.Repeat("[", 65), `{"a"}`, `nul`, `[1,2,{"a":[{},tru`, `{"a":1,"b":{"a":2,"c":[1,{"x":"\ud800`, `{"a" 1}`, `[1 2]`, `[,1]`, `{"a":1,"a":`, `{"x":{"b":1,"b":1e400`, `[[[]],[[-`, `{"a":[1,}`, `"\x"`, "\ufeff1", "\"\u2028\"",
		`{` + `"` + manyNames(40) + `":1,"k7":2}`, "\x0c1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tp Tape
		got, want := tp.read(raw), scan(raw)
		if (got == nil) != (want == nil) {
			t.Fatalf("%q: got %v, the library says %v", raw, got, want)
		}
		if got == nil {
			return
		}
		if got.Kind() != want.Kind || got.Offset < 0 || got.Offset > len(raw) {
			t.Fatalf("%q: got %s at %d, the library says %s", raw, got.Kind(), got.Offset, want.Kind)
		}
		// The library counts an element before a bracket that closes another kind, and leaves
		// out the object around it; it has no word for a name that is empty.
		mismatched := got.Reason == BadSyntax && got.Offset < len(raw) && (raw[got.Offset] == ']' || raw[got.Offset] == '}')
		empty := bytes.Contains(raw, []byte(`""`))
		if !mismatched && !empty && (got.Path.Short() != want.Path || got.Error() != want.Message) {
			t.Fatalf("%q: got %q at %q, the library says %q at %q", raw, got.Error(), got.Path.Short(), want.Message, want.Path)
		}
	})
}

// problem is what scan finds.
type problem struct{ Path, Kind, Message string }

// scan is Check by the reader of a library that others wrote.
func scan(raw []byte) *problem {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.ReadToken()
		switch {
		case err != nil:
			return syntaxProblem(err)
		case dec.StackDepth() > MaxDepth:
			return &problem{Kind: TooComplex, Message: "JSON is nested too deeply"}
		}
		if token.Kind() == '0' && !finiteNumber(token.String()) {
			at, _ := SplitPointer(string(dec.StackPointer()))
			return &problem{
				Path:    at.Short(),
				Kind:    InexactNumber,
				Message: "Number is not exact, send a string instead: " + at.Field(),
			}
		}
		if dec.StackDepth() == 0 { // the value has ended
			return trailing(dec)
		}
	}
}

// trailing allows white space only behind the value.
func trailing(dec *jsontext.Decoder) *problem {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &problem{Kind: InvalidJSON, Message: "Invalid JSON: text behind the value"}
	}
	return nil
}

func syntaxProblem(err error) *problem {
	problem := &problem{Kind: InvalidJSON, Message: "Invalid JSON"}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		problem.Message = "Invalid JSON: repeated object key"
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		if at, ok := SplitPointer(string(syntactic.JSONPointer)); ok && len(at) > 0 {
			problem.Path = at.Short()
			problem.Message += " at " + at.Field()
		}
	}
	return problem
}

// manyNames are the names k0, k1, … of members with the value 1.
func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "k" + strconv.Itoa(i)
	}
	return strings.Join(names, `":1,"`)
}
