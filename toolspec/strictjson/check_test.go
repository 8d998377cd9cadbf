package strictjson

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct {
		raw  string
		kind string
		path string
	}{
		"scalar":          {raw: ` 1 `},
		"object":          {raw: `{"a":{"a":[1,2.50,-0,null,true,"x"]}}`},
		"deep enough":     {raw: nest(64)},
		"too deep":        {raw: nest(65), kind: TooComplex},
		"much too deep":   {raw: strings.Repeat("[", 1<<20), kind: TooComplex},
		"empty":           {raw: ``, kind: InvalidJSON},
		"blank":           {raw: ` `, kind: InvalidJSON},
		"cut off":         {raw: `{"a":`, kind: InvalidJSON, path: "/a"},
		"trailing scalar": {raw: `1 2`, kind: InvalidJSON},
		"trailing object": {raw: `{} {}`, kind: InvalidJSON},
		"trailing junk":   {raw: `{}}`, kind: InvalidJSON},
		"repeated key":    {raw: `{"a":{"b":1,"b":2}}`, kind: InvalidJSON, path: "/a/b"},
		"escaped repeat":  {raw: `{"b":1,"\u0062":2}`, kind: InvalidJSON, path: "/b"},
		"bad UTF-8":       {raw: "{\"a\":\"\xff\"}", kind: InvalidJSON, path: "/a"},
		"lone surrogate":  {raw: `{"a":"\ud800"}`, kind: InvalidJSON, path: "/a"},
		"single quotes":   {raw: `{'a':1}`, kind: InvalidJSON},
		"NaN":             {raw: `[NaN]`, kind: InvalidJSON, path: "/0"},
		"overflow":        {raw: `{"a":[0,1e400]}`, kind: InexactNumber, path: "/a/1"},
		"underflow":       {raw: `{"a":1e-400}`, kind: InexactNumber, path: "/a"},
		"escaped path":    {raw: `{"a":{"b~/":[1.10,1e400]}}`, kind: InexactNumber, path: "/a/b~0~1/1"},
		"inexact is JSON": {raw: `9007199254740993`},
	} {
		t.Run(name, func(t *testing.T) {
			p := Check([]byte(c.raw))
			switch {
			case p == nil && c.kind != "":
				t.Errorf("accepted")
			case p != nil && (p.Kind() != c.kind || p.Path.Short() != c.path):
				t.Errorf("got %+v", *p)
			case p != nil && strings.Contains(p.Error(), "400"):
				t.Errorf("the message holds the value: %s", p.Error())
			}
		})
	}
}

// exact reports whether every number of raw keeps its value in canonical form.
func exact(raw []byte) bool {
	t := borrow()
	defer t.Release()
	if t.read(raw) != nil {
		return false
	}
	for i := range t.Items {
		if t.Items[i].Kind == '0' && !ExactNumber(string(t.Bytes(i))) {
			return false
		}
	}
	return true
}

func TestNamesFromTheCallerAreCutAndEscaped(t *testing.T) {
	long := strings.Repeat("é", 5000)
	p := Check([]byte(`{"` + long + `\u0007":[1e999]}`))
	if p == nil || len(p.Path.Short()) > 100 || len(p.Error()) > 200 || strings.Contains(p.Error(), "\a") {
		t.Errorf("got %+v", p)
	}
}
