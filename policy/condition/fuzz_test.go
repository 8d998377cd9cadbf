package condition

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// FuzzCondition: no condition and no arguments make anything panic, hang, or be
// judged in two ways; what is known without the arguments stays so with them;
// what a Checker says of any schema has a position and a reason.
func FuzzCondition(f *testing.F) {
	const object = `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"l":{"type":"array","items":{"$ref":"#"}}}}`
	for _, text := range []string{
		`args.n > 1`, `args.s.matches("^x+$")`, `args.l.exists(e, e == args.n)`, `args.map(k, k)[0] == "n"`, `args.?s.orValue("y") == "y"`,
		`actor == "user:ann" && args.n > 1`, `"admin" in roles`, `args.s.replace("", "xy").size() > 3`, `args.l.all(a, args.l.all(b, a == b))`,
		`{"a": args}.a.n == 1`, `timestamp(args.s) > timestamp("2026-01-01T00:00:00Z")`, `args["n"] == 1.0`, `args.s.split("").join(", ") == ""`,
		"args.`a-b`.c[?0].hasValue()", `type(args.n) == int`, `duration(args.s) < duration("1h")`, `int(args.s) / args.n == 1`, `"%s".format([args])  == ""`,
	} {
		f.Add(text, `{"n":1,"s":"x","l":[1,2.5,"1",null,{"a":[]}]}`, object)
	}
	f.Fuzz(func(t *testing.T, text, args, schema string) {
		began := time.Now()
		c, faults := Compile(text)
		if (c == nil) != (len(faults) > 0) {
			t.Fatalf("%v and %v", c, faults)
		}
		if c == nil {
			return
		}
		raw, fault := hydrate.Args(json.RawMessage(args))
		if fault != nil {
			return
		}
		judge := func(known bool) Truth {
			return c.Eval(&Variables{
				TenantID: "acme", ActorID: "agent:a", RunID: "r1", ToolID: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
				Roles: func() []string { return nil }, Args: raw, HasArgs: known,
			})
		}
		got := judge(true)
		if again := judge(true); again != got || got == Undetermined {
			t.Fatalf("%s of %s: %v, then %v", text, raw, got, again)
		}
		early := judge(false)
		// More work than it may do is all that the arguments can add to what was known.
		if early != Undetermined && early != got && got != Failed {
			t.Fatalf("%s: %v without arguments, %v with %s", text, early, got, raw)
		}
		spec := toolspec.Spec{Name: "core__x", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, InputSchema: json.RawMessage(schema)}
		for _, f := range NewChecker().Check(c, []toolspec.Spec{spec}) {
			if f.Line < 0 || f.Column < 0 || f.Reason == "" {
				t.Fatalf("%s: fault %+v", text, f)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%s of %d bytes took %s", text, len(raw), took)
		}
	})
}
