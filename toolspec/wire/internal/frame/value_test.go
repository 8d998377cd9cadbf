package frame_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

func parse(t *testing.T, text string) frame.Value {
	t.Helper()
	v, err := frame.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", " ", "{", "{}{}", "{} x", `{"a":}`, `{"a":1,}`, `[1,]`, `"`, "nul", "01", "NaN", "'a'", "{a:1}", "\ufeff{}", "\"\x01\""} {
		if v, err := frame.Parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken as %q", bad, v)
		}
	}
	for text, kind := range map[string]byte{"{}\n": '{', "\n[]": '[', `""`: '"', "true": 't', "false": 'f', "null": 'n', "-1.5e3": '0', "0": '0'} {
		if v := parse(t, text); v.Kind() != kind || string(v) != strings.TrimSpace(text) {
			t.Errorf("%q is %q of kind %c", text, v, v.Kind())
		}
	}
	var absent frame.Value
	if absent.Kind() != 0 || !absent.Null() || !parse(t, "null").Null() || parse(t, "0").Null() {
		t.Error("null and absent are taken for something")
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	v := parse(t, ` { "a" : 1 , "b":[ {"a":"}\"\\" } , [ ] ],"\u0063" :"x", "d" : null,"z":1,"z":2 } `)
	var got [5]frame.Value
	if err := v.Pick(got[:], "a", "b", "c", "d", "e"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", `[ {"a":"}\"\\" } , [ ] ]`, `"x"`, "null", ""} {
		if string(got[i]) != want {
			t.Errorf("member %d is %q, want %q", i, got[i], want)
		}
	}
	if err := v.Pick(got[:1], "z"); !errors.Is(err, frame.ErrRepeated) {
		t.Errorf("a member that is there twice: %v", err)
	}
	// The second spelling of one name is the same name.
	if err := parse(t, `{"id":1,"\u0069d":2}`).Pick(got[:1], "id"); !errors.Is(err, frame.ErrRepeated) {
		t.Errorf("a member that is there twice, once with an escape: %v", err)
	}
	for _, other := range []string{"[]", "1", `"x"`, "null"} {
		if err := parse(t, other).Pick(got[:1], "a"); err == nil {
			t.Errorf("%s has members", other)
		}
	}
	if n, ok := got[0].Int(); ok {
		t.Errorf("what was picked before is still there: %d", n)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`""`: "", `"a\"\\\n\u00e9"`: "a\"\\\né", `"\ud83d\ude00"`: "😀", `"é"`: "é"} {
		if got, ok := parse(t, text).Text(); !ok || got != want {
			t.Errorf("%s is %q, %t", text, got, ok)
		}
	}
	for _, bad := range []string{`"\ud83d"`, `"\ude00\ud83d"`, "\"\xff\"", "1", "null", "{}"} {
		if got, ok := parse(t, bad).Text(); ok {
			t.Errorf("%s is the text %q", bad, got)
		}
	}
	// A pair that was cut in two is whole when the pieces are joined.
	joined := append(bytes.Clone(parse(t, `"\ud83d"`).Escaped()), parse(t, `"\ude00"`).Escaped()...)
	if got, err := frame.Unescape(joined); err != nil || string(got) != "😀" {
		t.Errorf("joined: %q, %v", got, err)
	}
	if got := frame.Loose([]byte(`a\ud83d`)); got != "a\ufffd" {
		t.Errorf("loose: %q", got)
	}
	if got := string(frame.Quote(nil, "a\"\n\xff")); got != `"a\"\n�"` {
		t.Errorf("quoted: %s", got)
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"0": 0, "-1": -1, "127": 127} {
		if got, ok := parse(t, text).Int(); !ok || got != want {
			t.Errorf("%s is %d, %t", text, got, ok)
		}
	}
	for _, bad := range []string{"1.0", "1e2", "99999999999999999999", `"1"`, "null", "true"} {
		if got, ok := parse(t, bad).Int(); ok {
			t.Errorf("%s is %d", bad, got)
		}
	}
}

// FuzzValue: encoding/json takes what Parse takes, and reads the same out of it.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,"x\"\\",null,true,{"b":{}}],"c":{}}`, `[]`, ` [ [ ] , { } ] `, `"\ud83d"`, `{"a":1,"a":2}`, `{"\\":"\\\\"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := frame.Parse(data)
		if err != nil || !utf8.Valid(data) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		if got := rebuild(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %#v", data, got)
		}
	})
}

func rebuild(v frame.Value) any {
	switch v.Kind() {
	case '{':
		object := map[string]any{}
		for name, member := range v.Members() {
			object[string(name)] = rebuild(member)
		}
		return object
	case '[':
		array := []any{}
		for element := range v.Elements() {
			array = append(array, rebuild(element))
		}
		return array
	case '"':
		return frame.Loose(v.Escaped())
	case 'n':
		return nil
	case '0':
		return json.Number(v)
	default:
		return v.Kind() == 't'
	}
}
