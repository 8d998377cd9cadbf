package toolspec_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
)

func TestRedactionOutput(t *testing.T) {
	const canary = "canary"
	for _, tc := range []struct {
		name, allow, value, want string
	}{
		{"a field", "/a", `{"a":1,"b":"canary"}`, `{"a":1}`},
		{"a field with all below it", "/a", `{"a":{"x":[1,{"y":2}]},"b":"canary"}`, `{"a":{"x":[1,{"y":2}]}}`},
		{"a field below", "/a/x", `{"a":{"x":1,"y":"canary"}}`, `{"a":{"x":1}}`},
		{"fields of elements", "/l/*/x", `{"l":[{"x":1,"y":"canary"},{"y":"canary"}]}`, `{"l":[{"x":1},{}]}`},
		{"values of a map", "/m/*/x", `{"m":{"k":{"x":1,"y":"canary"}}}`, `{"m":{"k":{"x":1}}}`},
		{"everything below a star", "/*", `{"a":1,"b":[2]}`, `{"a":1,"b":[2]}`},
		{"everything", "", `{"a":1}`, `{"a":1}`},
		{"everything, spelled /", "/", `{"a":1}`, `{"a":1}`},
		{"a slash in a name", "/a~1b", `{"a/b":1,"a":{"b":"canary"}}`, `{"a/b":1}`},
		{"a tilde in a name", "/~0", `{"~":1,"~0":"canary"}`, `{"~":1}`},
		{"an escaped tilde before a 1", "/~01", `{"~1":1,"/":"canary"}`, `{"~1":1}`},
		{"a name of two paths", "/a/x /a/y", `{"a":{"x":1,"y":2,"z":"canary"}}`, `{"a":{"x":1,"y":2}}`},
		{"a path inside another", "/a /a/x", `{"a":{"x":1,"y":2}}`, `{"a":{"x":1,"y":2}}`},
		{"no such field", "/z", `{"a":"canary"}`, `{}`},
		{"a text where an object was expected", "/a/x", `{"a":"canary"}`, `{}`},
		{"a number where an array was expected", "/l/*", `{"l":7}`, `{}`},
		{"texts where objects were expected", "/l/*/x", `{"l":["canary",{"x":1}]}`, `{"l":[{"x":1}]}`},
		{"an index is no path into an array", "/l/0", `{"l":["canary"]}`, `{"l":[]}`},
		{"another root", "/a", `"canary"`, `null`},
		{"null", "/a", `null`, `null`},
		{"case matters", "/a", `{"A":"canary"}`, `{}`},
		{"numbers as written", "/a", `{"a":9007199254740993.10}`, `{"a":9007199254740993.10}`},
		{"keys sorted", "/b /a", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := toolspec.Redaction{Allow: strings.Split(tc.allow, " ")}
			got, err := r.Output(json.RawMessage(tc.value))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			}
			if bytes.Contains(got, []byte(canary)) {
				t.Errorf("%s stands in %s", canary, got)
			}
		})
	}
}

func TestRedactionInput(t *testing.T) {
	for _, tc := range []struct {
		name, mask, args, want string
	}{
		{"nothing", "", `{"a": 1}`, `{"a": 1}`},
		{"a field", "/a", `{"a":"x","b":1}`, `{"a":"***","b":1}`},
		{"an object", "/a", `{"a":{"x":1}}`, `{"a":"***"}`},
		{"null", "/a", `{"a":null}`, `{"a":"***"}`},
		{"an absent field stays absent", "/a", `{"b":1}`, `{"b":1}`},
		{"fields of elements", "/l/*/x", `{"l":[{"x":1,"y":2},3]}`, `{"l":[{"x":"***","y":2},3]}`},
		{"values of a map", "/m/*", `{"m":{"k":1}}`, `{"m":{"k":"***"}}`},
		{"a slash in a name", "/a~1b", `{"a/b":1}`, `{"a/b":"***"}`},
		{"everything", "/", `{"a":1}`, `"***"`},
		{"an element", "/l/0/x", `{"l":[{"x":1},{"x":2}]}`, `{"l":[{"x":"***"},{"x":2}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := toolspec.Redaction{}
			if tc.mask != "" {
				r.MaskInput = []string{tc.mask}
			}
			args := json.RawMessage(tc.args)
			got, err := r.Input(args)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			}
			if string(args) != tc.args {
				t.Errorf("the arguments themselves became %s", args)
			}
		})
	}
}

func TestRedactionErrors(t *testing.T) {
	for _, value := range []string{"", "{", "canary"} {
		for _, f := range []func(json.RawMessage) (json.RawMessage, error){
			toolspec.Redaction{Allow: []string{"/a"}}.Output,
			toolspec.Redaction{MaskInput: []string{"/a"}}.Input,
		} {
			if got, err := f(json.RawMessage(value)); err == nil || got != nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q gives %s, %v", value, got, err)
			}
		}
	}
	for _, r := range []toolspec.Redaction{{}, {MaskInput: []string{"/a"}}, {Allow: []string{"a"}}, {Allow: []string{"/a"}, MaskInput: []string{"a"}}} {
		if r.Check() == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	if _, err := (toolspec.Redaction{Allow: []string{"a"}}).Output(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("a path that is no pointer is taken")
	}
	sameError(t, toolspec.Redaction{Allow: []string{"/a", ""}, MaskInput: []string{"/b/*"}}.Check(), "")
}

var names = rapid.SampledFrom([]string{"a", "b", "c/d", "~", "*", "0"})

func anyValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Map(rapid.IntRange(-9, 9), func(n int) any { return n }),
		rapid.Map(rapid.SampledFrom([]string{"", "x", "<"}), func(s string) any { return s }),
		rapid.Just[any](nil), rapid.Just[any](true),
	)
	if depth == 0 {
		return leaf
	}
	below := anyValue(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(names, below, 0, 4), func(m map[string]any) any { return m }),
	)
}

// leaves lists the paths of all scalars of v, with the tokens as they stand.
func leaves(v any, at []string, found map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			leaves(child, append(slices.Clone(at), name), found)
		}
	case []any:
		for i, child := range v {
			leaves(child, append(slices.Clone(at), "#"+strconv.Itoa(i)), found)
		}
	default:
		found[strings.Join(at, "\x00")] = v
	}
}

// allowed is the meaning of an allowlist, written the slow way.
func allowed(path []string, allow [][]string) bool {
	return slices.ContainsFunc(allow, func(a []string) bool {
		if len(a) > len(path) {
			return false
		}
		for i, token := range a {
			element := strings.HasPrefix(path[i], "#")
			if token != "*" && (element || token != path[i]) {
				return false
			}
		}
		return true
	})
}

// TestRedactionProperties: what is left is exactly what the list allows; the
// bytes are always the same, and redacting again changes nothing.
func TestRedactionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(4).Draw(t, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		paths := rapid.SliceOfN(rapid.SliceOfN(names, 1, 4), 1, 3).Draw(t, "allow")
		pointers := make([]string, len(paths))
		for i, p := range paths {
			for _, token := range p {
				pointers[i] += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
			}
		}
		r := toolspec.Redaction{Allow: pointers}
		kept, err := r.Output(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Output(raw)
		if err != nil || !bytes.Equal(kept, again) {
			t.Fatalf("the second time %s, the first %s (%v)", again, kept, err)
		}
		if again, err = r.Output(kept); err != nil || !bytes.Equal(kept, again) {
			t.Fatalf("redacting %s again gives %s (%v)", kept, again, err)
		}
		var left any
		if err := json.Unmarshal(kept, &left); err != nil {
			t.Fatal(err)
		}
		inside := leafTexts(t, left)
		want := allowedTexts(t, raw, paths)
		if !slices.Equal(inside, want) {
			t.Fatalf("%s through %q leaves %s\n%q\nwant\n%q", raw, pointers, kept, inside, want)
		}
	})
}

// leafTexts lists the scalars of v with their paths. Elements lose their index,
// for redaction drops elements of which nothing is left.
func leafTexts(t *rapid.T, v any) []string {
	found := map[string]any{}
	leaves(v, nil, found)
	return texts(t, found, func([]string) bool { return true })
}

func allowedTexts(t *rapid.T, raw []byte, allow [][]string) []string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	leaves(v, nil, found)
	return texts(t, found, func(path []string) bool { return allowed(path, allow) })
}

func texts(t *rapid.T, found map[string]any, which func([]string) bool) []string {
	var list []string
	for joined, leaf := range found {
		path := strings.Split(joined, "\x00")
		if joined == "" {
			path = nil
		}
		if !which(path) {
			continue
		}
		raw, err := json.Marshal(leaf)
		if err != nil {
			t.Fatal(err)
		}
		if joined == "" {
			if leaf == nil {
				continue
			}
			list = append(list, string(raw))
			continue
		}
		for i, token := range path {
			if strings.HasPrefix(token, "#") {
				path[i] = "#"
			}
		}
		list = append(list, strings.Join(path, "/")+"="+string(raw))
	}
	slices.Sort(list)
	return list
}
