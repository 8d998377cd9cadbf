package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// agrees checks that the schema of T accepts all JSON that encoding/json writes for a T, and that
// encoding/json reads it back.
func agrees[T any](t *testing.T, gen *rapid.Generator[T]) {
	doc, err := Derive(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	s := compiled(t, string(doc))
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(gen.Draw(t, "value"))
		if err != nil {
			t.Skip(err)
		}
		if problems := s.Validate(raw); problems != nil {
			t.Fatalf("%s: %v", raw, problems)
		}
		var back T
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}

func TestDerivedSchemaAgreesWithEncodingJSON(t *testing.T) {
	type flat struct {
		S string
		I int64 `json:"i,omitempty"`
		U uint8 `json:"u,string"`
		F float64
		B *bool `json:"b"`
	}
	type lists struct {
		A []string            `json:"a"`
		B [][]int8            `json:"b,omitempty"`
		C map[string][]uint16 `json:"c"`
		D []*flat             `json:"d"`
		E [3]int              `json:"e"`
		F []byte              `json:"f"`
		G map[string]*flat    `json:"g,omitzero"`
		H **int               `json:"h"`
	}
	type Inner struct{ X, Y int }
	type Rival struct {
		Y string // as deep as Inner.Y, so encoding/json writes neither
		Z string `json:"z"`
	}
	type embeds struct {
		Inner
		Rival
		*Extra
		hidden
		X string `json:"X"`
		L lists
	}
	t.Run("flat", func(t *testing.T) { agrees(t, rapid.Make[flat]()) })
	t.Run("lists", func(t *testing.T) { agrees(t, rapid.Make[lists]()) })
	t.Run("embeds", func(t *testing.T) {
		agrees(t, rapid.Custom(func(t *rapid.T) embeds {
			e := embeds{Inner: rapid.Make[Inner]().Draw(t, "inner"), X: rapid.String().Draw(t, "x"), L: rapid.Make[lists]().Draw(t, "l")}
			if rapid.Bool().Draw(t, "extra") {
				e.Extra = &Extra{More: rapid.String().Draw(t, "more")}
			}
			return e
		}))
	})
	t.Run("entry", func(t *testing.T) {
		agrees(t, rapid.Custom(func(t *rapid.T) Entry {
			e := Entry{
				Base: Base{ID: rapid.StringN(1, 5, -1).Draw(t, "id")}, Note: rapid.String().Draw(t, "note"),
				Owner: Owner{Name: "a,b"}, Owners: []Owner{{Name: "x"}},
				Labels: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels"),
				Scores: rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Int8())).Draw(t, "scores"),
				At:     time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(t, "at"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
				Data:   rapid.SliceOf(rapid.Byte()).Draw(t, "data"), Size: rapid.Uint16().Draw(t, "size"),
				Count: rapid.Int().Draw(t, "count"), Level: rapid.IntRange(1, 5).Draw(t, "level"),
				Mode: rapid.SampledFrom([]string{"", "fast", "slow"}).Draw(t, "mode"), Ratio: rapid.Float64Range(0.1, 1e300).Draw(t, "ratio"),
				Number: "12.5", Addr: netip.MustParseAddr("2001:db8::1"), Wait: time.Duration(rapid.Int64().Draw(t, "wait")),
				Any: rapid.SampledFrom([]any{nil, 1, "x", []any{}, map[string]any{"a": 1}}).Draw(t, "any"),
			}
			if rapid.Bool().Draw(t, "since") {
				e.Owner.Since = &e.At
			}
			if rapid.Bool().Draw(t, "open") {
				e.Open = map[string]any{"k": 1.5}
			}
			return e
		}))
	})
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"c":{"items":{"$ref":"#"}}}}`), []byte(`{"c":[{"c":[1]}]}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"],"c":{"type":"object"}}}`), []byte(`{"a":1,"c":2}`))
	f.Add([]byte(`{"type":"object","unevaluatedProperties":{"type":"string"},"anyOf":[{"properties":{"a":true}},false]}`), []byte(`{"a":1,"b":2}`))
	f.Add([]byte(`{"type":"object","properties":{"t":{"type":"array","items":[{"type":"string"}],"additionalItems":false,"unevaluatedItems":false}}}`), []byte(`{"t":["a",1]}`))
	f.Fuzz(func(t *testing.T, doc, instance []byte) {
		s, err := jsonschema.Compile(doc)
		if err != nil {
			return
		}
		problems := s.Validate(instance)
		if (problems == nil) != (len(problems) == 0) || len(problems) > 32 {
			t.Fatalf("%d problems", len(problems))
		}
		for _, p := range problems {
			if p.Message == "" || p.Kind == "" || len(p.Message) > 64*200 {
				t.Fatalf("%+v", p)
			}
		}
		if problems == nil {
			if value, err := strictjson.Decode(instance); err != nil {
				t.Fatal("accepted what does not parse")
			} else if _, ok := value.(map[string]any); !ok {
				t.Fatal("accepted a value that is not an object")
			}
		}
		_ = CheckInput(doc)
		for _, allow := range []string{"", "/a", "/*/a", "/l/*/id"} {
			_, _ = Project(doc, []string{allow})
		}
	})
}
