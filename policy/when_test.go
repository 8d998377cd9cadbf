package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func mustWhen(t testing.TB, text string) *whenCondition {
	t.Helper()
	w, faults := newWhen(text)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", text, faults)
	}
	return w
}

// asked evaluates a condition for a call of acme's, whose actor is an admin.
func asked(w *whenCondition, args string) truth {
	f := call()
	f.Tags = []string{"files", "pii"}
	f.ConnectionID, f.Args, f.HasArgs = "c1", json.RawMessage(args), args != ""
	t := &tenant{roles: []role{{"admin", []Pattern{"agent:*"}}, {"ops", []Pattern{"user:*"}}}}
	return w.eval(t.evaluation(f))
}

func TestWhen(t *testing.T) {
	const args = `{"path":"/tmp/x","n":3,"ratio":2.5,"deep":{"on":true,"a-b":1},"to":["ann@acme.com","bob@other.org"],"note":null}`
	for _, c := range []struct {
		text string
		args string
		want truth
	}{
		{`args.path.startsWith("/tmp/")`, args, yes},
		{`args.path.startsWith("/etc/")`, args, no},
		{`args.path.startsWith("/tmp/")`, "", undetermined},
		{`args.missing == "x"`, args, failed},
		{`has(args.missing) && args.missing == "x"`, args, no},
		{`args.?missing.orValue("x") == "x"`, args, yes},
		{`args[?"missing"].orValue("x") == "x"`, args, yes},
		{`args.path > 5`, args, failed},
		{`args.path == 5`, args, no}, // of another type, so not equal
		{`args.path`, args, failed},  // neither true nor false
		{`args.deep.on`, args, yes},
		{"args.deep.`a-b` == 1", args, yes},
		{`args.deep["a-b"] == 1`, args, yes},
		{`args.note == null`, args, yes},
		{`args.to.exists(a, !a.endsWith("@acme.com"))`, args, yes},
		{`args.to.all(a, a.endsWith("@acme.com"))`, args, no},
		{`args.to.size() == 2 && size(args) == 6`, args, yes},
		{`"path" in args && !("pth" in args)`, args, yes},
		{`args.path.matches("^/tmp/[a-z]$")`, args, yes},
		{`args.path.upperAscii() == "/TMP/X"`, args, yes},
		{`sets.intersects(roles, ["admin", "root"])`, args, yes},
		{`"ops" in roles`, args, no},
		{`tool.id == "core__write_file" && tool.effect == "state_change" && tool.risk == "medium"`, "", yes},
		{`"pii" in tool.tags && !("public" in tool.tags)`, "", yes},
		{`sets.intersects(tool.tags, ["pii", "money"])`, "", yes},
		{`tool.tags.exists(t, t.startsWith("team:"))`, "", no},
		{`actor == "agent:a" && subject == "" && tenant == "acme" && run == "r1" && connection == "c1"`, "", yes},
		// What is known decides where it suffices.
		{`actor == "agent:b" && args.path == "/x"`, "", no},
		{`args.path == "/x" && actor == "agent:b"`, "", no},
		{`actor == "agent:a" || args.path == "/x"`, "", yes},
		{`actor == "agent:a" && args.path == "/x"`, "", undetermined},
		{`has(args.path)`, "", undetermined},
		{`args.?path.orValue("") == ""`, "", undetermined},
		{`args.to.exists(a, true)`, "", undetermined},
		// Arguments that are none.
		{`args.path == "x"`, `[1]`, failed},
		{`args.path == "x"`, `null`, failed},
		{`args.path == "x"`, `{"path":`, failed},
		{`args.path == "x"`, `{"path":"x"} {}`, failed},
		{`actor == "agent:a"`, `[1]`, yes}, // it does not ask for them
	} {
		if got := asked(mustWhen(t, c.text), c.args); got != c.want {
			t.Errorf("%s of %s: %v, want %v", c.text, c.args, got, c.want)
		}
	}
}

// A number is an int where it is whole and an int64 holds it, else a double. No
// two numbers that hydrate accepts become one.
func TestWhenNumbers(t *testing.T) {
	for _, c := range []struct {
		n, text string
		want    truth
	}{
		{`3`, `args.n == 3 && args.n == 3.0 && type(args.n) == int`, yes},
		{`3.0`, `type(args.n) == int && args.n + 1 == 4`, yes},
		{`3e2`, `args.n == 300 && type(args.n) == int`, yes},
		{`-0`, `args.n == 0`, yes},
		{`2.5`, `args.n > 2 && args.n < 3 && type(args.n) == double`, yes},
		{`2.5`, `args.n + 1.0 == 3.5`, yes},
		{`2.5`, `args.n + 1 == dyn(3.5)`, failed},
		{`3`, `args.n * 2.0 == 6.0`, failed},
		{`3`, `double(args.n) * 2.0 == 6.0`, yes},
		{`9007199254740992`, `args.n == 9007199254740992 && args.n != 9007199254740993`, yes},
		{`9007199254740991`, `args.n + 1 == 9007199254740992`, yes},
		{`-9223372036854775808`, `args.n == -9223372036854775808`, yes},
		{`9223372036854775807`, `args.n == 9223372036854775807`, yes},
		{`9223372036854775807`, `args.n + 1 > 0`, failed}, // overflow
		{`9223372036854775808`, `type(args.n) == double && args.n > 9223372036854770000`, yes},
		{`1e+21`, `args.n > 9223372036854775807`, yes},
		{`1e400`, `args.n > 0`, failed},
		{`7`, `7 / (args.n - 7) > 0`, failed},
	} {
		if got := asked(mustWhen(t, c.text), `{"n":`+c.n+`}`); got != c.want {
			t.Errorf("n = %s: %s is %v, want %v", c.n, c.text, got, c.want)
		}
	}
}

// What costs more than it may has failed, whatever it would have said; what is
// in its bounds is answered, also at the largest size of arguments.
func TestWhenCostIsLimited(t *testing.T) {
	list := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + `]}` }
	w := mustWhen(t, `args.a.exists(x, args.a.exists(y, x != y))`)
	if got := asked(w, list(50)); got != no {
		t.Errorf("50 entries: %v", got)
	}
	if got := asked(w, list(5000)); got != failed {
		t.Errorf("5000 entries: %v", got)
	}
	if got := asked(mustWhen(t, `args.a.exists(x, x == "y")`), list(10_000)); got != no {
		t.Errorf("a walk over 10000 entries: %v", got)
	}
	// It may not hold much at a time either.
	if got := asked(mustWhen(t, `args.a.map(x, x + args.p).size() == 1`), `{"a":["y"],"p":"`+strings.Repeat("a", 30_000)+`"}`); got != yes {
		t.Errorf("one long text: %v", got)
	}
	if got := asked(mustWhen(t, `args.a.map(x, x + args.p).size() > 1`), `{"a":["y"`+strings.Repeat(`,"y"`, 2000)+`],"p":"`+strings.Repeat("a", 30_000)+`"}`); got != failed {
		t.Errorf("many long texts: %v", got)
	}
	if got := asked(mustWhen(t, `args.p.contains("b")`), `{"p":"`+strings.Repeat("a", 60_000)+`"}`); got != no {
		t.Errorf("a search through 60000 characters: %v", got)
	}
}

// Go walks maps in a random order; a condition must not.
func TestWhenWalksObjectsInOneOrder(t *testing.T) {
	var members []string
	for i := range 50 {
		members = append(members, fmt.Sprintf(`"k%02d":%d`, i, i))
	}
	args := "{" + strings.Join(members, ",") + "}"
	for _, text := range []string{
		`args.map(k, k)[0] == "k00" && args.map(k, k)[49] == "k49"`,
		`args.filter(k, k < "k02") == ["k00", "k01"]`,
		`[args].map(a, a.map(k, k)[1])[0] == "k01"`,
	} {
		w := mustWhen(t, text)
		for range 20 {
			if got := asked(w, args); got != yes {
				t.Fatalf("%s: %v", text, got)
			}
		}
	}
}

func TestWhenServesSeveralCallsAtOnce(t *testing.T) {
	w := mustWhen(t, `args.n == 1 && args.to.exists(a, a == actor)`)
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				want := no
				if i == 1 {
					want = yes
				}
				if got := asked(w, fmt.Sprintf(`{"n":%d,"to":["agent:a"]}`, i)); got != want {
					t.Fatalf("%v", got)
				}
			}
		})
	}
}

// The rules of a policy with conditions: what is not known or cannot be judged
// makes nothing easier.
func TestWhenDecides(t *testing.T) {
	doc := func(mode, rule string) *Policy {
		return mustParse(t, acme("    allowedTools: [core__*]\n    mode: "+mode+"\n    rules:\n      - "+rule+"\n"))
	}
	for _, c := range []struct {
		mode, rule, args string
		verb             Verb
		by               string
	}{
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{"path":"/x"}`, Deny, "tenants.acme.rules[0]"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{"path":"/y"}`, Allow, "mode yolo, risk medium"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{}`, Deny, "tenants.acme.rules[0] (its condition failed)"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: require_approval}`, `{}`, RequireApproval, "tenants.acme.rules[0] (its condition failed)"},
		{"ask", `{tool: "*", when: 'args.path == "/x"', decision: allow}`, `{"path":"/x"}`, Allow, "tenants.acme.rules[0]"},
		{"ask", `{tool: "*", when: 'args.path == "/x"', decision: allow}`, `{}`, RequireApproval, "mode ask, risk medium"},
		{"yolo", `{tool: core__read_file, when: 'args.path == "/x"', decision: deny}`, `{}`, Allow, "mode yolo, risk medium"},
		{"auto", `{tool: "*", when: 'args.n > 100', risk: high}`, `{"n":101}`, RequireApproval, "mode auto, risk high"},
		{"auto", `{tool: "*", when: 'args.n > 100', risk: high}`, `{}`, RequireApproval, "mode auto, risk high"},
		{"yolo", `{tool: "*", when: 'args.n > 100', decision: require_approval, risk: high}`, `{"n":100.5}`, RequireApproval, "tenants.acme.rules[0]"},
	} {
		f := call()
		f.Args = json.RawMessage(c.args)
		wantVerb(t, doc(c.mode, c.rule).Decide(f), c.verb, c.by)
	}
	f := call()
	f.Args, f.HasArgs = nil, false
	d := doc("yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`).Decide(f)
	if !d.Undetermined || d.Verb != RequireApproval {
		t.Errorf("before hydration: %+v", d)
	}
}
