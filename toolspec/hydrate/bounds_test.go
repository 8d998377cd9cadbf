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

// TestCallBounds: an id of 128 characters and arguments of 8192 bytes pass, and one more of each
// does not (VA-09, VA-10).
func TestCallBounds(t *testing.T) {
	long := target(t)
	long.Validator, long.AllowNoSchema = nil, true
	args := func(n int) []byte { return []byte(`{"path":"` + strings.Repeat("a", n-11) + `"}`) }
	for _, tc := range []struct {
		name string
		id   int
		args int
		ok   bool
	}{{"most", 128, 8192, true}, {"a longer id", 129, 20, false}, {"larger arguments", 1, 8193, false}, {"far larger ones", 1, 10 << 20, false}} {
		r := hydrate.Call(long, true, hydrate.Given{ID: strings.Repeat("é", tc.id), Args: args(tc.args)})
		if r.Success != tc.ok || !tc.ok && r.Errors[0].Detail.Kind != hydrate.KindTooLarge {
			t.Errorf("%s: %+v", tc.name, r.Errors)
		}
	}
	// A text that was cut is not JSON. If it is larger than the bound of the tool, it is refused as too large, and its size is recorded.
	for _, size := range []int{8195, 10 << 10, 6*8192 + 3, 64 << 10} {
		r := hydrate.Call(long, true, hydrate.Given{ID: "c", Args: args(size)[:size-2]})
		if p := r.Provenance; r.Success || r.Errors[0].Detail.Kind != hydrate.KindTooLarge || p.OriginalBytes != size-2 || p.OriginalDigest == "" || len(p.Tolerances) != 0 {
			t.Errorf("%d bytes that are no JSON: %+v", size, r)
		}
	}
	// For arguments in a string, the bytes without the escapes count.
	if r := long.Hydrate(quoted(t, `{"path":"`+strings.Repeat(`\"`, 4000)+`"}`)); !r.Success {
		t.Errorf("a string with escapes: %+v", r.Errors)
	}
	long.MaxArgs = 100
	if r := hydrate.Call(long, true, hydrate.Given{Args: args(101)}); r.Success {
		t.Error("the tool's own bound does not count")
	}
}
