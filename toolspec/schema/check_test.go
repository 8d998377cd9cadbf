package schema

import (
	"strings"
	"testing"
)

func TestCheckJSON(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct {
		raw  string
		kind Kind
		path string
	}{
		"scalar":          {raw: ` 1 `},
		"object":          {raw: `{"a":{"a":[1,2.50,-0,null,true,"x"]}}`},
		"deep enough":     {raw: nest(64)},
		"too deep":        {raw: nest(65), kind: KindTooComplex},
		"much too deep":   {raw: strings.Repeat("[", 1<<20), kind: KindTooComplex},
		"empty":           {raw: ``, kind: KindInvalidJSON},
		"blank":           {raw: ` `, kind: KindInvalidJSON},
		"cut off":         {raw: `{"a":`, kind: KindInvalidJSON, path: "/a"},
		"trailing scalar": {raw: `1 2`, kind: KindInvalidJSON},
		"trailing object": {raw: `{} {}`, kind: KindInvalidJSON},
		"trailing junk":   {raw: `{}}`, kind: KindInvalidJSON},
		"repeated key":    {raw: `{"a":{"b":1,"b":2}}`, kind: KindInvalidJSON, path: "/a/b"},
		"escaped repeat":  {raw: `{"b":1,"\u0062":2}`, kind: KindInvalidJSON, path: "/b"},
		"bad UTF-8":       {raw: "{\"a\":\"\xff\"}", kind: KindInvalidJSON, path: "/a"},
		"lone surrogate":  {raw: `{"a":"\ud800"}`, kind: KindInvalidJSON, path: "/a"},
		"single quotes":   {raw: `{'a':1}`, kind: KindInvalidJSON},
		"NaN":             {raw: `[NaN]`, kind: KindInvalidJSON, path: "/0"},
		"overflow":        {raw: `{"a":[0,1e400]}`, kind: KindInexactNumber, path: "/a/1"},
		"underflow":       {raw: `{"a":1e-400}`, kind: KindInexactNumber, path: "/a"},
		"escaped path":    {raw: `{"a":{"b~/":[1.10,1e400]}}`, kind: KindInexactNumber, path: "/a/b~0~1/1"},
		"inexact is JSON": {raw: `9007199254740993`},
	} {
		t.Run(name, func(t *testing.T) {
			p := CheckJSON([]byte(c.raw))
			switch {
			case p == nil && c.kind != "":
				t.Errorf("accepted")
			case p != nil && (p.Kind != c.kind || p.Path != c.path):
				t.Errorf("got %+v", *p)
			case p != nil && strings.Contains(p.Message, "400"):
				t.Errorf("the message holds the value: %s", p.Message)
			}
		})
	}
}

// exact reports whether every number of raw keeps its value in canonical form.
func exact(raw []byte) bool {
	t := borrow()
	defer t.done()
	if !t.read(raw) {
		return false
	}
	for i := range t.items {
		if t.items[i].kind == '0' && !ExactNumber(string(t.bytes(i))) {
			return false
		}
	}
	return true
}

func TestNamesFromTheCallerAreCutAndEscaped(t *testing.T) {
	long := strings.Repeat("é", 5000)
	p := CheckJSON([]byte(`{"` + long + `\u0007":[1e999]}`))
	if p == nil || len(p.Path) > 100 || len(p.Message) > 200 || strings.Contains(p.Message, "\a") {
		t.Errorf("got %+v", p)
	}
}
