package schema

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

type Base struct {
	ID   string `json:"id" jsonschema:"description=stable id,minLength=1"`
	Note string `json:"note,omitempty"`
}

type Owner struct {
	Name  string     `json:"name" jsonschema:"pattern=^[a-z\\,]+$"`
	Since *time.Time `json:"since"`
}

type Entry struct {
	Base
	*Extra
	hidden
	Note    string            `json:"note" jsonschema_description:"shadows the embedded one, with a comma"`
	Owner   Owner             `json:"owner"`
	Owners  []Owner           `json:"owners" jsonschema:"minItems=1"`
	Labels  map[string]string `json:"labels,omitempty"`
	Scores  map[string][]int8 `json:"scores"`
	At      time.Time         `json:"at"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Open    map[string]any    `json:"open,omitzero"`
	Data    []byte            `json:"data"`
	Size    uint16            `json:"size"`
	Count   int               `json:"count,string"`
	Level   int               `json:"level" jsonschema:"default=3,minimum=1,maximum=5"`
	Mode    string            `json:"mode,omitempty" jsonschema:"enum=fast,enum=slow,default=fast"`
	Ratio   float64           `json:"ratio" jsonschema:"exclusiveMinimum=0"`
	Number  json.Number       `json:"number"`
	Addr    netip.Addr        `json:"addr"`
	Wait    time.Duration     `json:"wait"`
	Pair    [2]bool           `json:"pair"`
	Dash    bool              `json:"-,"` //nolint:staticcheck // encoding/json names the field "-": the library must too
	Skipped chan int          `json:"-"`
	Plain   bool
	Inline  struct {
		X *int `json:"x,omitempty"`
	} `json:"inline"`
	private int //nolint:unused // the library must leave it out
}

type Extra struct {
	More string `json:"more"`
}

type hidden struct {
	Shown string `json:"shown"`
}

func TestDeriveGolden(t *testing.T) {
	doc, err := Derive(reflect.TypeFor[*Entry]())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "entry.schema.json", doc)
	for range 100 {
		again, err := Derive(reflect.TypeFor[Entry]())
		if err != nil || !bytes.Equal(doc, again) {
			t.Fatalf("not the same bytes: %v", err)
		}
	}
	for _, keyword := range []string{`"$ref"`, `"$defs"`, `"$id"`, `"oneOf"`} {
		if bytes.Contains(doc, []byte(keyword)) {
			t.Errorf("%s in the document", keyword)
		}
	}
}

func TestDeriveAnonymousTypes(t *testing.T) {
	type in = struct {
		A struct {
			B []struct {
				C int `json:"c"`
			} `json:"b,omitempty"`
		} `json:"a"`
	}
	doc, err := Derive(reflect.TypeFor[in]())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "anonymous.schema.json", doc)
	s := compiled(t, string(doc))
	if got := first(s, `{"a":{"b":[{"c":1,"d":2}]}}`); got != `Unknown field: "a/b/0/d"` {
		t.Errorf("got %q", got)
	}
	if doc, err := Derive(reflect.TypeFor[struct{}]()); err != nil || first(compiled(t, string(doc)), `{"x":1}`) == "" {
		t.Errorf("empty struct: %s, %v", doc, err)
	}
}

type (
	Loop   struct{ Next *Mid }
	Mid    struct{ Back []map[string]Loop }
	Tree   []Tree
	Twice  struct{ A, B Owner }
	Custom struct{}
	Hooked struct{}
	halfIn string
)

func (Custom) MarshalJSON() ([]byte, error)     { return []byte("1"), nil }
func (Hooked) JSONSchemaAlias() any             { return 1 }
func (*halfIn) UnmarshalText(text []byte) error { return nil }

func TestDeriveRefuses(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"root must be":              reflect.TypeFor[string](),
		"the root must be a struct": reflect.TypeFor[[]Owner](),
		"root must be a struct, so": reflect.TypeFor[map[string]int](),
		"must be a struct":          reflect.TypeFor[time.Time](),
		"a struct":                  nil,
		"schema.Loop.Next.Back[]{}: recursive type schema.Loop": reflect.TypeFor[Loop](),
		".T[]: recursive type":           reflect.TypeFor[struct{ T Tree }](),
		".C: schema.Custom marshals":     reflect.TypeFor[struct{ C Custom }](),
		".H: schema.Hooked has a method": reflect.TypeFor[struct{ H *Hooked }](),
		".X: schema.halfIn marshals":     reflect.TypeFor[struct{ X halfIn }](),
		".M: map keys must be plain":     reflect.TypeFor[struct{ M map[int]string }](),
		".F: func() has no JSON form":    reflect.TypeFor[struct{ F func() }](),
		".E: error has no JSON form":     reflect.TypeFor[struct{ E error }](),
		".U.User: recursive":             nil,
		`"maxlen" has no effect`: reflect.TypeFor[struct {
			A string `jsonschema:"maxlen=3"`
		}](),
		`" two" has no effect`: reflect.TypeFor[struct {
			A string `jsonschema:"description=one, two"`
		}](),
		`"minimum" has no effect`: reflect.TypeFor[struct {
			A string `jsonschema:"minimum=3"`
		}](),
		`minimum="x"`: reflect.TypeFor[struct {
			A int `jsonschema:"minimum=x"`
		}](),
		`maxLength="-1"`: reflect.TypeFor[struct {
			A string `jsonschema:"maxLength=-1"`
		}](),
		`uniqueItems="false"`: reflect.TypeFor[struct {
			A []int `jsonschema:"uniqueItems=false"`
		}](),
		`"-" has no effect`: reflect.TypeFor[struct {
			A string `jsonschema:"-"`
		}](),
		`"oneof_ref" has no effect`: reflect.TypeFor[struct {
			A string `jsonschema:"oneof_ref=#/a"`
		}](),
		"no = in it": reflect.TypeFor[struct {
			A []string `jsonschema:"pattern=a=b"`
		}](),
		"jsonschema_extras": reflect.TypeFor[struct {
			A string `jsonschema_extras:"$ref=x"`
		}](),
		"with a default is not required": reflect.TypeFor[struct {
			A string `jsonschema:"required,default=x"`
		}](),
		"/properties/A/default": reflect.TypeFor[struct {
			A int `jsonschema:"default=9,maximum=5"`
		}](),
		"pattern is not RE2": reflect.TypeFor[struct {
			A string `jsonschema:"pattern=(?=x)"`
		}](),
	} {
		if typ == nil && want != "a struct" {
			continue
		}
		doc, err := Derive(typ)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %s, %v; want %q", typ, doc, err, want)
		}
	}
	if _, err := Derive(reflect.TypeFor[struct{ U url.URL }]()); err != nil {
		t.Logf("url.URL: %v", err)
	}
	if _, err := Derive(reflect.TypeFor[Twice]()); err != nil {
		t.Errorf("a type used twice is not recursive: %v", err)
	}
}
