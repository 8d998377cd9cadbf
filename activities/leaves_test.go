package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// nest makes random nested values. It knows of each text, number and name in them whether it may leave the
// worker. All texts, numbers and names are different.
type nest struct {
	*rand.Rand
	allow, hidden [][]string // hidden are the paths at which a mask covers the whole value
	emails        [][]string // the paths whose emails a mask covers
	pad           string
	made          int
	// may are the texts of the value that may leave, and mayNot are the texts that may not.
	may, mayNot []string
}

// through reports whether one of the patterns leads to a path or to a part above it. An element of a
// list is "*" in a path.
func through(patterns [][]string, path []string) bool {
	return slices.ContainsFunc(patterns, func(pattern []string) bool {
		return len(pattern) <= len(path) && fits(pattern, path)
	})
}

// fits reports whether a pattern and a path agree as far as both go.
func fits(pattern, path []string) bool {
	for i := range min(len(pattern), len(path)) {
		if pattern[i] != path[i] && pattern[i] != "*" {
			return false
		}
	}
	return true
}

// note notes whether a text of the value may leave the worker.
func (n *nest) note(text string, leaves bool) {
	if leaves {
		n.may = append(n.may, text)
	} else {
		n.mayNot = append(n.mayNot, text)
	}
}

// value makes a random value at a path: a list, an object, a number, or a text with an email. Its texts, its numbers and the made-up keys of its
// objects are unique. For each of them, value stores in may or mayNot whether it may leave the worker. A number or a text may leave if a pattern of
// allow matches its path or the beginning of its path, and no pattern of hidden does. A made-up key may also leave if a pattern of allow matches a
// longer path.
func (n *nest) value(path []string, depth int) any {
	n.made++
	id := 100_000 + n.made
	shown := through(n.allow, path) && !through(n.hidden, path)
	switch kind := n.IntN(10); {
	case depth > 0 && kind < 4:
		list := make([]any, 1+n.IntN(3))
		for i := range list {
			list[i] = n.value(append(slices.Clone(path), "*"), depth-1)
		}
		return list
	case depth > 0 && kind < 8:
		members := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			if n.IntN(3) > 0 {
				members[name] = n.value(append(slices.Clone(path), name), depth-1)
			}
		}
		if n.IntN(2) == 0 {
			name := fmt.Sprintf("name%dn", id)
			at := append(slices.Clone(path), name)
			// A mask on the member itself hides its value, and not its name.
			if !slices.ContainsFunc(n.allow, func(p []string) bool { return fits(p, at) }) || through(n.hidden, path) {
				n.note(name, false)
			}
			members[name] = n.value(at, depth-1)
		}
		return members
	case kind == 8:
		number := 987_654_000_000 + int64(id)
		n.note(fmt.Sprint(number), shown)
		return number
	}
	text, email := fmt.Sprintf("text%dt", id), fmt.Sprintf("mail%dm@example.org", id)
	n.note(text, shown)
	n.note(email, shown && !through(n.emails, path))
	return text + " " + email + " " + n.pad
}

// pointers returns random patterns and their JSON pointers.
func pointers(r *rand.Rand, limit int) (patterns [][]string, all []string) {
	for range 1 + r.IntN(limit) {
		var pattern []string
		for range r.IntN(4) {
			pattern = append(pattern, []string{"a", "b", "c", "*", "*"}[r.IntN(5)])
		}
		pointer := ""
		if len(pattern) > 0 {
			pointer = "/" + strings.Join(pattern, "/")
		}
		patterns, all = append(patterns, pattern), append(all, pointer)
	}
	return patterns, all
}

type fixedCache struct{ value json.RawMessage }

func (f fixedCache) Lookup(context.Context, cache.LookupRow) (cache.Finding, error) {
	return cache.Finding{Value: f.value}, nil
}

// left is what leaves an activity: its answer, and the value and the info in this answer. refused is the code of the
// failure, if there is one.
type left struct {
	answer  any
	value   json.RawMessage
	info    toolspec.OutputInfo
	refused toolspec.Code
}

func leftOf(v hook.Verdict, value json.RawMessage, info toolspec.OutputInfo) left {
	l := left{answer: v, value: value, info: info}
	if v.Failure != nil {
		l.refused = v.Failure.Code
	}
	return l
}

// ways are the ways by which a value leaves a worker.
var ways = map[string]struct {
	hook hook.Hook
	run  func(*testing.T, *world) left
}{
	"execute": {run: runAttempt},
	"probe": {run: func(t *testing.T, w *world) left {
		in := contract.ProbeIn{Facts: w.facts(), Epoch: 4, Dispatch: 2, Terms: w.executeIn().Terms}
		ctx := as(t.Context(), false)
		in.Permit = w.permit(ctx, in.Facts, in.Terms)
		out, err := w.Probe(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		l := left{answer: out, value: out.Value, info: out.OutputInfo}
		if out.Failure != nil {
			l.refused = out.Failure.Code
		}
		return l
	}},
	"response in the attempt": {run: runAttempt, hook: hook.New("h", hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return v.Respond(leaving) }))},
	"response before it": {hook: hook.New("h", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.Respond(leaving) })), run: func(t *testing.T, w *world) left {
		v := runStage(t, w, hook.WillCheckConsent.Stage(), nil)
		return leftOf(v, v.Value, v.ValueInfo)
	}},
	"output hook": {hook: hook.New("h", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error { v.SetOutput(leaving); return nil })), run: func(t *testing.T, w *world) left {
		v := runStage(t, w, hook.WillTransformOutput.Stage(), func(f *hook.Facts) { f.Output = json.RawMessage(`null`) })
		return leftOf(v, v.Delta.Output, v.Delta.OutputInfo)
	}},
	"cache hit": {run: func(t *testing.T, w *world) left {
		v := runStage(t, w, hook.WillReadCache.Stage(), nil)
		if v.Failure != nil || v.Delta.Cached == nil { // the tool would run
			return left{answer: v, refused: toolspec.CodeResultTooLarge}
		}
		hit := runStage(t, w, hook.DidCacheHit.Stage(), func(f *hook.Facts) { f.Cached, f.CachedInfo, f.Hit = v.Delta.Cached, v.Delta.CachedInfo, true })
		l := leftOf(hit, hit.Value, hit.ValueInfo)
		l.answer = []hook.Verdict{v, hit}
		return l
	}},
}

// leaving is the value of the tool, the hook or the cache for the current seed. hooked are the hooks.
var (
	leaving any
	hooked  []string
)

func runAttempt(t *testing.T, w *world) left {
	in := w.executeIn()
	in.Around = hooked
	out, err := w.Execute(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	l := left{answer: out, value: out.Value, info: out.OutputInfo}
	if out.Failure != nil {
		l.refused = out.Failure.Code
	}
	return l
}

func runStage(t *testing.T, w *world, at hook.Stage, change func(*hook.Facts)) hook.Verdict {
	in := hook.StageInput{Stage: at, Hooks: hooked, Facts: w.facts(), Terms: &hook.Terms{}}
	in.Facts.Effect = toolspec.ReadOnly
	if change != nil {
		change(&in.Facts)
	}
	v, err := w.Stage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const maskingPolicy = openPolicy + `
    mask: [{tool: "*", path: /b, with: email}]
    cache: [{tool: core__tool, for: 1m}]
`

// TestWhatLeaves: of random nested values, in every size and on every way out of a worker, only the parts that
// the allowlist names leave, and no part that a mask of the tool or of policy covers. Each part that may leave
// is in the value that leaves or in the stored whole value.
func TestWhatLeaves(t *testing.T) {
	sizes := []int{0, 100, 4000, 60_000}
	met := map[string]int{}
	for seed := range uint64(96) {
		for name, way := range ways {
			r := rand.New(rand.NewPCG(seed, 17))
			n := &nest{Rand: r, pad: strings.Repeat("é ", sizes[seed%4]/3)}
			var allow, hidden, emails []string
			n.allow, allow = pointers(r, 3)
			n.hidden, hidden = pointers(r, 2)
			n.emails, emails = pointers(r, 2)
			change := func(d *toolspec.Definition) {
				d.Effect, d.Redaction = toolspec.ReadOnly, toolspec.Redaction{Allow: allow}
				for i, path := range slices.Concat(hidden, emails) {
					with := toolspec.MaskAll
					if i >= len(hidden) {
						with = toolspec.MaskEmail
					}
					if path != "" || with == toolspec.MaskEmail {
						d.Redaction.MaskOutput = append(d.Redaction.MaskOutput, toolspec.Masking{Path: path, With: with})
					}
				}
			}
			n.hidden = slices.DeleteFunc(n.hidden, func(p []string) bool { return len(p) == 0 })
			n.emails = append(n.emails, []string{"b"})
			leaving = n.value(nil, 4)
			raw, err := json.Marshal(leaving)
			if err != nil {
				t.Fatal(err)
			}
			s := setup{def: change, policy: maskingPolicy, own: func(source judge.Source, p policies) stage.Table {
				return cache.Steps(p, source, fixedCache{raw}, slog.New(slog.DiscardHandler))
			}}
			s.tool = func(d toolspec.Definition) toolspec.Tool {
				return toolspec.DefineWithProbe(d, func(context.Context, in, toolspec.Call) (any, error) { return leaving, nil },
					func(context.Context, in, toolspec.Call) (toolspec.Found[any], error) {
						return toolspec.FoundEffect(leaving), nil
					})
			}
			if hooked = nil; way.hook.Name() != "" {
				s.hooks, hooked = []hook.Hook{way.hook}, []string{"h"}
			}
			w := newWorld(t, s)
			got := way.run(t, w)
			said, err := json.Marshal([]any{got.answer, w.records.outputs, w.records.claims, w.records.begun, w.records.progress})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range n.mayNot {
				if bytes.Contains(said, []byte(text)) || bytes.Contains(w.log.Bytes(), []byte(text)) {
					t.Fatalf("seed %d, %s: %s leaves; allow %q, hidden %q, emails %q and /b, of %.2000s", seed, name, text, allow, hidden, emails, raw)
				}
			}
			if got.refused != "" {
				if got.refused != toolspec.CodeResultTooLarge {
					t.Fatalf("seed %d, %s: refused with %s", seed, name, got.refused)
				}
				met[name+", refused"]++
				continue
			}
			whole := got.value
			if got.info.Truncated {
				met[name+", stored"]++
				whole = w.records.outputs[len(w.records.outputs)-1].Value
			} else {
				met[name+", whole"]++
			}
			if got.info.Bytes != int64(len(whole)) {
				t.Errorf("seed %d, %s: the value is said to have %d bytes, and has %d", seed, name, got.info.Bytes, len(whole))
			}
			for _, text := range n.may {
				if !bytes.Contains(whole, []byte(text)) {
					t.Fatalf("seed %d, %s: %s is missing; allow %q, hidden %q, emails %q, of %.2000s", seed, name, text, allow, hidden, emails, raw)
				}
			}
		}
	}
	for name := range ways {
		for _, how := range []string{", whole", ", stored", ", refused"} {
			if met[name+how] < 3 {
				t.Errorf("%d values are %s%s", met[name+how], name, how)
			}
		}
	}
}
