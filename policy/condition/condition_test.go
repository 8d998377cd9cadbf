package condition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func mustCompile(t testing.TB, text string) *Condition {
	t.Helper()
	w, faults := Compile(text)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", text, faults)
	}
	return w
}

// asked evaluates a condition for a call of acme's, whose actor is an admin.
func asked(c *Condition, args string) Truth {
	return c.Eval(&Variables{
		TenantID: "acme", ActorID: "agent:a", RunID: "r1", ConnectionID: "c1", ToolID: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Tags: []string{"files", "pii"}, Roles: func() []string { return []string{"admin"} }, Args: json.RawMessage(args), HasArgs: args != "",
	})
}

func TestWhen(t *testing.T) {
	const args = `{"path":"/tmp/x","n":3,"ratio":2.5,"deep":{"on":true,"a-b":1},"to":["ann@acme.com","bob@other.org"],"note":null}`
	for _, c := range []struct {
		text string
		args string
		want Truth
	}{
		{`args.path.startsWith("/tmp/")`, args, Yes},
		{`args.path.startsWith("/etc/")`, args, No},
		{`args.path.startsWith("/tmp/")`, "", Undetermined},
		{`args.missing == "x"`, args, Failed},
		{`has(args.missing) && args.missing == "x"`, args, No},
		{`args.?missing.orValue("x") == "x"`, args, Yes},
		{`args[?"missing"].orValue("x") == "x"`, args, Yes},
		{`args.path > 5`, args, Failed},
		{`args.path == 5`, args, No}, // of another type, so not equal
		{`args.path`, args, Failed},  // neither true nor false
		{`args.deep.on`, args, Yes},
		{"args.deep.`a-b` == 1", args, Yes},
		{`args.deep["a-b"] == 1`, args, Yes},
		{`args.note == null`, args, Yes},
		{`args.to.exists(a, !a.endsWith("@acme.com"))`, args, Yes},
		{`args.to.all(a, a.endsWith("@acme.com"))`, args, No},
		{`args.to.size() == 2 && size(args) == 6`, args, Yes},
		{`"path" in args && !("pth" in args)`, args, Yes},
		{`args.path.matches("^/tmp/[a-z]$")`, args, Yes},
		{`args.path.upperAscii() == "/TMP/X"`, args, Yes},
		{`sets.intersects(roles, ["admin", "root"])`, args, Yes},
		{`"ops" in roles`, args, No},
		{`tool.id == "core__write_file" && tool.effect == "state_change" && tool.risk == "medium"`, "", Yes},
		{`"pii" in tool.tags && !("public" in tool.tags)`, "", Yes},
		{`sets.intersects(tool.tags, ["pii", "money"])`, "", Yes},
		{`tool.tags.exists(t, t.startsWith("team:"))`, "", No},
		{`actor == "agent:a" && subject == "" && tenant == "acme" && run == "r1" && connection == "c1"`, "", Yes},
		// What is known decides where it suffices.
		{`actor == "agent:b" && args.path == "/x"`, "", No},
		{`args.path == "/x" && actor == "agent:b"`, "", No},
		{`actor == "agent:a" || args.path == "/x"`, "", Yes},
		{`actor == "agent:a" && args.path == "/x"`, "", Undetermined},
		{`has(args.path)`, "", Undetermined},
		{`args.?path.orValue("") == ""`, "", Undetermined},
		{`args.to.exists(a, true)`, "", Undetermined},
		// Arguments that are none.
		{`args.path == "x"`, `[1]`, Failed},
		{`args.path == "x"`, `null`, Failed},
		{`args.path == "x"`, `{"path":`, Failed},
		{`args.path == "x"`, `{"path":"x"} {}`, Failed},
		{`actor == "agent:a"`, `[1]`, Yes}, // it does not ask for them
	} {
		if got := asked(mustCompile(t, c.text), c.args); got != c.want {
			t.Errorf("%s of %s: %v, want %v", c.text, c.args, got, c.want)
		}
	}
}

// A number is an int where it is whole and an int64 holds it, else a double. No
// two numbers that hydrate accepts become one.
func TestWhenNumbers(t *testing.T) {
	for _, c := range []struct {
		n, text string
		want    Truth
	}{
		{`3`, `args.n == 3 && args.n == 3.0 && type(args.n) == int`, Yes},
		{`3.0`, `type(args.n) == int && args.n + 1 == 4`, Yes},
		{`3e2`, `args.n == 300 && type(args.n) == int`, Yes},
		{`-0`, `args.n == 0`, Yes},
		{`2.5`, `args.n > 2 && args.n < 3 && type(args.n) == double`, Yes},
		{`2.5`, `args.n + 1.0 == 3.5`, Yes},
		{`2.5`, `args.n + 1 == dyn(3.5)`, Failed},
		{`3`, `args.n * 2.0 == 6.0`, Failed},
		{`3`, `double(args.n) * 2.0 == 6.0`, Yes},
		{`9007199254740992`, `args.n == 9007199254740992 && args.n != 9007199254740993`, Yes},
		{`9007199254740991`, `args.n + 1 == 9007199254740992`, Yes},
		{`-9223372036854775808`, `args.n == -9223372036854775808`, Yes},
		{`9223372036854775807`, `args.n == 9223372036854775807`, Yes},
		{`9223372036854775807`, `args.n + 1 > 0`, Failed}, // overflow
		{`9223372036854775808`, `type(args.n) == double && args.n > 9223372036854770000`, Yes},
		{`1e+21`, `args.n > 9223372036854775807`, Yes},
		{`1e400`, `args.n > 0`, Failed},
		{`7`, `7 / (args.n - 7) > 0`, Failed},
	} {
		if got := asked(mustCompile(t, c.text), `{"n":`+c.n+`}`); got != c.want {
			t.Errorf("n = %s: %s is %v, want %v", c.n, c.text, got, c.want)
		}
	}
}

// What costs more than it may has failed, whatever it would have said; what is
// in its bounds is answered, also at the largest size of arguments.
func TestWhenCostIsLimited(t *testing.T) {
	list := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + `]}` }
	w := mustCompile(t, `args.a.exists(x, args.a.exists(y, x != y))`)
	if got := asked(w, list(50)); got != No {
		t.Errorf("50 entries: %v", got)
	}
	if got := asked(w, list(5000)); got != Failed {
		t.Errorf("5000 entries: %v", got)
	}
	if got := asked(mustCompile(t, `args.a.exists(x, x == "y")`), list(10_000)); got != No {
		t.Errorf("a walk over 10000 entries: %v", got)
	}
	// It may not hold much at a time either.
	if got := asked(mustCompile(t, `args.a.map(x, x + args.p).size() == 1`), `{"a":["y"],"p":"`+strings.Repeat("a", 30_000)+`"}`); got != Yes {
		t.Errorf("one long text: %v", got)
	}
	if got := asked(mustCompile(t, `args.a.map(x, x + args.p).size() > 1`), `{"a":["y"`+strings.Repeat(`,"y"`, 2000)+`],"p":"`+strings.Repeat("a", 30_000)+`"}`); got != Failed {
		t.Errorf("many long texts: %v", got)
	}
	if got := asked(mustCompile(t, `args.p.contains("b")`), `{"p":"`+strings.Repeat("a", 60_000)+`"}`); got != No {
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
		w := mustCompile(t, text)
		for range 20 {
			if got := asked(w, args); got != Yes {
				t.Fatalf("%s: %v", text, got)
			}
		}
	}
}

func TestWhenServesSeveralCallsAtOnce(t *testing.T) {
	w := mustCompile(t, `args.n == 1 && args.to.exists(a, a == actor)`)
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				want := No
				if i == 1 {
					want = Yes
				}
				if got := asked(w, fmt.Sprintf(`{"n":%d,"to":["agent:a"]}`, i)); got != want {
					t.Fatalf("%v", got)
				}
			}
		})
	}
}
