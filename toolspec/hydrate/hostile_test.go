package hydrate_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// hostile is an adversarial document with the kind of its refusal. as is a text that travels in a JSON string; raw are the arguments
// themselves.
type hostile struct {
	name, as, raw string
	kind          string
}

func hostiles() []hostile {
	deep := func(open, closing string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
	}
	many := func(n int, member func(int) string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(member(i))
		}
		b.WriteByte('}')
		return b.String()
	}
	in := func(value string) string { return `{"path":` + value + `}` }
	secret := "sk-" + strings.Repeat("a", 24)
	return []hostile{
		// Nesting.
		{"65 arrays", in(deep("[", "]", 64)), "", "too_complex"},
		{"65 objects", deep(`{"a":`, "}", 65), "", "too_complex"},
		{"1 000 arrays", in(deep("[", "]", 1000)), "", "too_complex"},
		{"arrays that nobody closes", in(strings.Repeat("[", 4000)), "", "too_complex"},
		{"objects that nobody closes", strings.Repeat(`{"a":`, 1500), "", "too_complex"},
		{"arrays closed too often", in("[]" + strings.Repeat("]", 3000)), "", "invalid_json"},
		{"arrays and objects in turn", deep(`[{"a":`, "}]", 500), "", "too_complex"},
		// Size is checked first.
		{"a string of 10 MiB", in(`"` + strings.Repeat("a", 10<<20) + `"`), "", "too_large"},
		{"10 MiB of arguments as they stand", "", in(`"` + strings.Repeat("a", 10<<20) + `"`), "too_large"},
		{"10 MiB of brackets", "", strings.Repeat("[", 10<<20), "too_large"},
		{"a name of 10 MiB", `{"` + strings.Repeat("a", 10<<20) + `":1}`, "", "too_large"},
		{"10 MiB of white space", strings.Repeat(" ", 10<<20) + "{}", "", "too_large"},
		{"10 MiB of digits", in(strings.Repeat("9", 10<<20)), "", "too_large"},
		{"10 MiB of escapes", in(`"` + strings.Repeat(`\u0061`, 10<<20/6) + `"`), "", "too_large"},
		{"a million members", many(1_000_000, func(i int) string { return fmt.Sprintf(`"a%d":1`, i) }), "", "too_large"},
		{"a byte too much", in(`"` + strings.Repeat("a", 8192-11+1) + `"`), "", "too_large"},
		{"larger in its canonical form", in(strings.Repeat("[1e20,", 40) + strings.Repeat("1e20,", 1500) + "1e20" + strings.Repeat("]", 40)), "", "too_large"},
		// Keys.
		{"a key twice", `{"path":"a","path":"b"}`, "", "repeated_key"},
		{"a key twice, escaped once", `{"path":"a","p\u0061th":"b"}`, "", "repeated_key"},
		{"a key twice, inside", `{"path":{"a":1,"a":1}}`, "", "repeated_key"},
		{"a key a thousand times", many(800, func(int) string { return `"path":1` }), "", "repeated_key"},
		{"an empty key twice", `{"":1,"":2}`, "", "repeated_key"},
		{"__proto__", `{"path":"a","__proto__":{"admin":true}}`, "", "unknown_property"},
		{"__proto__ twice", `{"__proto__":{},"__proto__":{}}`, "", "repeated_key"},
		{"constructor", `{"path":"a","constructor":{"prototype":{"admin":true}}}`, "", "unknown_property"},
		{"prototype", `{"path":"a","prototype":1}`, "", "unknown_property"},
		{"toString", `{"path":"a","toString":"x"}`, "", "unknown_property"},
		{"hasOwnProperty", `{"path":"a","hasOwnProperty":1}`, "", "unknown_property"},
		{"__proto__ in place of a value", in(`{"__proto__":"a"}`), "", "type_mismatch"},
		{"$ref", `{"path":"a","$ref":"file:///etc/passwd"}`, "", "unknown_property"},
		{"an empty key", `{"path":"a","":1}`, "", "unknown_property"},
		{"a key in another case", `{"path":"a","Path":"b"}`, "", "unknown_property"},
		{"a key that looks alike", `{"path":"a","раth":"b"}`, "", "unknown_property"},
		{"a key with white space", `{"path":"a","path ":"b"}`, "", "unknown_property"},
		{"a key that is a pointer", `{"path":"a","a/b~c":1}`, "", "unknown_property"},
		{"a key that turns the direction", "{\"path\":\"a\",\"\u202egnp\":1}", "", "unknown_property"},
		{"700 unknown keys", many(700, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }), "", "missing_required"},
		// Numbers.
		{"1e400", in("1e400"), "", "inexact_number"},
		{"1e-400", in("1e-400"), "", "inexact_number"},
		{"1e999999999", in("1e999999999"), "", "inexact_number"},
		{"an exponent of 1 000 digits", in("1e" + strings.Repeat("9", 1000)), "", "inexact_number"},
		{"2^53+1", in("9007199254740993"), "", "inexact_number"},
		{"5 000 digits", in(strings.Repeat("9", 5000)), "", "inexact_number"},
		{"5 000 digits behind the point", in("0." + strings.Repeat("3", 5000)), "", "inexact_number"},
		{"NaN", in("NaN"), "", "not_finite"},
		{"Infinity", in("Infinity"), "", "not_finite"},
		{"-Infinity", in("-Infinity"), "", "not_finite"},
		{"nan in an array", in("[1,nan]"), "", "not_finite"},
		{"NaN alone", "NaN", "", "not_finite"},
		{"a zero ahead", in("007"), "", "invalid_json"},
		{"a plus sign", in("+1"), "", "invalid_json"},
		{"hexadecimal", in("0x10"), "", "invalid_json"},
		{"a point and nothing", in("1."), "", "invalid_json"},
		{"a number for a text", in("1"), "", "type_mismatch"},
		// Unicode.
		{"a high surrogate alone", in(`"\ud800"`), "", "lone_surrogate"},
		{"a low surrogate alone", in(`"\udc00"`), "", "lone_surrogate"},
		{"surrogates the wrong way round", in(`"\udc00\ud800"`), "", "lone_surrogate"},
		{"a surrogate in a key", `{"\ud800":1}`, "", "lone_surrogate"},
		{"no UTF-8", "", "{\"path\":\"\xff\"}", "invalid_utf8"},
		{"an overlong slash", "", "{\"path\":\"\xc0\xaf\"}", "invalid_utf8"},
		{"a surrogate as bytes", "", "{\"path\":\"\xed\xa0\x80\"}", "invalid_utf8"},
		{"a character cut in half", "", "{\"path\":\"\xe2\x82\"}", "invalid_utf8"},
		{"NUL, escaped", in(`"a\u0000b"`), "", "nul_character"},
		{"NUL in a key", `{"a\u0000":1}`, "", "nul_character"},
		{"NUL as a byte", "{\"path\":\"a\x00b\"}", "", "nul_character"},
		{"NUL between members", "{\"path\":\x00\"a\"}", "", "nul_character"},
		{"a byte order mark", "\ufeff{}", "", "byte_order_mark"},
		{"a byte order mark as it stands", "", "\ufeff{}", "byte_order_mark"},
		{"a line end in a text", "{\"path\":\"a\nb\"}", "", "invalid_json"},
		{"UTF-16", "", "{\x00}\x00", "nul_character"},
		// Text around the value.
		{"two documents", `{"path":"a"}{"path":"b"}`, "", "trailing_text"},
		{"a word behind", `{"path":"a"} ok`, "", "trailing_text"},
		{"NUL behind", "{\"path\":\"a\"}\x00", "", "trailing_text"},
		{"a comment", `{"path":"a"/**/}`, "", "invalid_json"},
		{"nothing but white space", "  ", "", "invalid_json"},
		{"a quote", `'`, "", "invalid_json"},
		{"8 000 quotes", strings.Repeat("'", 8000), "", "invalid_json"},
		{"8 000 backslashes", `"` + strings.Repeat(`\`, 8000), "", "invalid_json"},
		{"an array", `[{"path":"a"}]`, "", "type_mismatch"},
		{"a text", `"path"`, "", "type_mismatch"},
		{"wrapped three times", `"\"{}\""`, "", "type_mismatch"},
		// Credentials.
		{"a credential", in(`"` + secret + `"`), "", "secret_shaped"},
		{"a credential, escaped", in(`"\u0073` + secret[1:] + `"`), "", "secret_shaped"},
		{"a credential for a name", `{"` + secret + `":1}`, "", "secret_shaped"},
		// A text that is too long for the schema, and a text that is expensive for a pattern.
		{"a text that is too long", in(`"` + strings.Repeat("a", 8000) + `"`), "", "invalid_value"},
		{"8 000 combining characters", in(`"` + strings.Repeat("\u0301", 4000) + `"`), "", "invalid_value"},
	}
}

// TestHostileArguments: each document is refused with its kind, in bounded time and memory. Arguments that are too large are not parsed,
// and other arguments cost in proportion to their size. A repairer does not change this (fault 66 for instances).
func TestHostileArguments(t *testing.T) {
	list := hostiles()
	if len(list) < 60 {
		t.Fatalf("%d documents", len(list))
	}
	// A refusal may cost one copy of the text per parse, the decoded tree of 8 KiB, and the list of problems.
	const maxAlloc, maxTime = 24 << 20, 20 * time.Second // most of it is the validator, which explains 700 unknown names
	var worstAlloc uint64
	var worstTime time.Duration
	for _, tc := range list {
		t.Run(tc.name, func(t *testing.T) {
			raw := json.RawMessage(tc.raw)
			if tc.raw == "" {
				raw = quoted(t, tc.as)
			}
			for _, repairer := range []hydrate.Repairer{nil, hydrate.Careful{}} {
				tool := target(t)
				tool.Repairer = repairer
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				r := tool.Hydrate(raw)
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				spent := after.TotalAlloc - before.TotalAlloc
				worstAlloc, worstTime = max(worstAlloc, spent), max(worstTime, took)
				if spent > maxAlloc || took > maxTime {
					t.Errorf("took %s and %d bytes", took, spent)
				}
				mended := repairer != nil && r.Provenance.Repaired && slices.Contains([]string{"a number for a text"}, tc.name)
				if r.Success && !mended {
					t.Fatalf("accepted: %+v", r.Provenance)
				}
				if mended {
					continue
				}
				if got := r.Errors[0].Detail.Kind; got != tc.kind {
					t.Errorf("refused as %s: %s, want %s", got, r.Message(), tc.kind)
				}
				if text, err := json.Marshal(r.Provenance); err != nil || len(text) > 8<<10 || len(r.Message()) > 1000 {
					t.Errorf("the provenance has %d bytes, the message %d (%v)", len(text), len(r.Message()), err)
				}
				if r.Code() != toolspec.CodeInvalidJSON && r.Code() != toolspec.CodeValidation {
					t.Errorf("code %s", r.Code())
				}
			}
		})
	}
	t.Logf("%d documents; the worst took %s, and %d KiB were allocated for the worst", len(list), worstTime, worstAlloc>>10)
}

// TestSizeBoundsTheCost: the cost of a refusal does not grow with arguments that are too large; a string that holds such arguments is not
// unwrapped. The test uses absolute bounds, because under the race detector pools drop entries at random.
func TestSizeBoundsTheCost(t *testing.T) {
	const size, maxBytes, maxAllocs = 50 << 20, 64 << 10, 20
	tool := target(t)
	for name, raw := range map[string]json.RawMessage{
		"an object": json.RawMessage(`{"path":"` + strings.Repeat("a", size) + `"}`), "a text": quoted(t, strings.Repeat("a", size)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tool.Hydrate(raw)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > maxBytes {
			t.Errorf("%s: %d bytes for 50 MiB", name, after.TotalAlloc-before.TotalAlloc)
		}
		if n := testing.AllocsPerRun(20, func() { tool.Hydrate(raw) }); n > maxAllocs {
			t.Errorf("%s: %v allocations for 50 MiB", name, n)
		}
	}
}

// FuzzHydrate: no input panics, an accepted result is accepted again unchanged, and a failure has a reason without values.
func FuzzHydrate(f *testing.F) {
	for _, h := range hostiles() {
		if len(h.as)+len(h.raw) < 4<<10 {
			f.Add([]byte(h.as + h.raw))
		}
	}
	f.Add([]byte(`{path: 'a', limit: '7',}`))
	tool := target(f)
	tool.Repairer = hydrate.Careful{}
	f.Fuzz(func(t *testing.T, text []byte) {
		args, ok := hydrate.OfText(text)
		if !ok {
			return
		}
		r := tool.Hydrate(args)
		instance, ok := r.Instance()
		if !ok {
			if len(r.Errors) == 0 || r.Code() == "" || r.Errors[0].Detail.Kind == "" || r.Provenance.Outcome == toolspec.HydrationSuccess {
				t.Fatalf("%+v", r)
			}
			return
		}
		again := tool.Hydrate(instance.Args())
		got, ok := again.Instance()
		if !ok || string(got.Args()) != string(instance.Args()) || again.Provenance.Repaired || again.Provenance.Tolerances != nil {
			t.Fatalf("%s became %s and that %+v", text, instance.Args(), again)
		}
	})
}
