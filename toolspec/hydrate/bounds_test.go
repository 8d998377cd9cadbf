package hydrate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// ofSize returns a JSON object of n bytes.
func ofSize(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }

// escaped returns a JSON string in which each character of the text takes six bytes.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return `"` + b.String() + `"`
}

// repairsTo is a repairer that always returns the same text.
type repairsTo string

func (repairsTo) Name() string { return "mends" }
func (m repairsTo) Repair(hydrate.Damage) ([]byte, []string, bool) {
	return []byte(m), []string{"all"}, true
}

// TestBounds: input of the size of a bound is accepted, and one byte more is refused.
func TestBounds(t *testing.T) {
	const most = 100
	tool := target(t, func(s *toolspec.Spec) { s.InputSchema = json.RawMessage(`{"type":"object"}`) })
	tool.MaxArgs = most
	repairs := func(to string) hydrate.Target {
		m := tool
		m.Repairer = repairsTo(to)
		return m
	}
	call := func(g hydrate.Given) hydrate.Result {
		large := tool
		large.MaxArgs = 2 * toolspec.MaxInline
		return hydrate.Call(large, true, g)
	}
	for name, bound := range map[string]func(more int) hydrate.Result{
		"arguments":              func(more int) hydrate.Result { return tool.Hydrate(json.RawMessage(ofSize(most + more))) },
		"arguments, all escaped": func(more int) hydrate.Result { return tool.Hydrate(json.RawMessage(escaped(ofSize(most + more)))) },
		"repaired arguments":     func(more int) hydrate.Result { return repairs(ofSize(most + more)).Hydrate(json.RawMessage(`{"a":`)) },
		"the arguments of a call": func(more int) hydrate.Result {
			return call(hydrate.Given{ID: "c", Args: []byte(ofSize(toolspec.MaxInline + more))})
		},
		"the id of a call": func(more int) hydrate.Result {
			return call(hydrate.Given{ID: strings.Repeat("é", 128+more), Args: []byte(`{}`)})
		},
	} {
		if r := bound(0); !r.Success {
			t.Errorf("%s of the bound: %+v", name, r)
		}
		if r := bound(1); r.Success {
			t.Errorf("%s beyond the bound: %+v", name, r)
		}
	}
}

// TestFaultsAreShort: a path of up to 200 bytes is returned whole, of a longer path only the beginning, and messages hold no long path.
func TestFaultsAreShort(t *testing.T) {
	of := func(size int) (path string, p strictjson.Path) {
		for len(path) < size {
			name := strings.Repeat("n", min(size-len(path)-1, 20))
			path, p = path+"/"+name, append(p, name)
		}
		return path, p
	}
	for size, whole := range map[int]bool{199: true, 200: true, 201: false, 5000: false} {
		path, p := of(size)
		f := hydrate.FaultOf(&strictjson.Fault{Reason: strictjson.RepeatedName, Path: p})
		if whole && f.Problem.Path != path || !whole && f.Problem.Path != path[:200]+"…" {
			t.Errorf("a path of %d bytes is %q", size, f.Problem.Path)
		}
		if strings.Contains(f.Problem.Message, "nnn") != whole {
			t.Errorf("a path of %d bytes has the message %q", size, f.Problem.Message)
		}
		if got, want := f.Error(), f.Problem.Path+": "+f.Problem.Message; got != want {
			t.Errorf("the error is %q, not %q", got, want)
		}
	}
	if got := hydrate.FaultOf(&strictjson.Fault{Reason: strictjson.TooDeep}).Error(); strings.HasPrefix(got, ":") || got == "" {
		t.Errorf("a fault without a path is %q", got)
	}
}
