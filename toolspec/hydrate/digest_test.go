package hydrate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

func invocation() toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: "core__read_file", ToolCallID: "call-1", Args: json.RawMessage(`{"path":"a.txt","limit":10}`),
		Context: toolspec.Context{
			TenantID: "acme", RunID: "run-1", ActorID: "user:ann", SubjectID: "user:sue", SessionID: "s", RequestID: "r",
			GraphID: "g", ConnectionID: "c1", VirtualKeyID: "v", ToolIDs: []string{"a__b", "c__d"},
		},
		AllowedConnectionIDs: []string{"c1", "c2"},
		Provider:             &toolspec.Provider{Name: "openai", ToolCall: json.RawMessage(`{"id":"x"}`)},
		SubmitterProof:       "p",
	}
}

func digest(t *testing.T, inv toolspec.Invocation) string {
	t.Helper()
	d, err := hydrate.InputDigest(inv)
	if err != nil || len(d) != 64 {
		t.Fatalf("%q, %v", d, err)
	}
	return d
}

func TestInputDigest(t *testing.T) {
	whole := digest(t, invocation())
	for _, tc := range []struct {
		name   string
		same   bool
		change func(*toolspec.Invocation)
	}{
		{"requestId", true, func(inv *toolspec.Invocation) { inv.Context.RequestID = "other" }},
		{"sessionId", true, func(inv *toolspec.Invocation) { inv.Context.SessionID = "" }},
		{"provider", true, func(inv *toolspec.Invocation) { inv.Provider = nil }},
		{"proof", true, func(inv *toolspec.Invocation) { inv.SubmitterProof = "" }},
		{"toolCallId, which the id has", true, func(inv *toolspec.Invocation) { inv.ToolCallID = "call-2" }},
		{"order of keys", true, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`{"limit":10,"path":"a.txt"}`) }},
		{"white space", true, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage("{ \"path\" :\n\"a.txt\", \"limit\": 10 }") }},
		{"spelling of a number", true, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`{"path":"a.txt","limit":1.0e1}`) }},
		{"spelling of a text", true, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`{"path":"\u0061.txt","limit":10}`) }},
		{"a string that holds the JSON", true, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`"{\"limit\":10, \"path\":\"a.txt\"}"`) }},
		{"order of connections", true, func(inv *toolspec.Invocation) { inv.AllowedConnectionIDs = []string{"c2", "c1"} }},
		{"tool", false, func(inv *toolspec.Invocation) { inv.ToolID = "core__ls" }},
		{"a value", false, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`{"path":"b.txt","limit":10}`) }},
		{"a type", false, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`{"path":"a.txt","limit":"10"}`) }},
		{"no arguments", false, func(inv *toolspec.Invocation) { inv.Args = nil }},
		{"broken arguments", false, func(inv *toolspec.Invocation) { inv.Args = json.RawMessage(`"{\"path\":"`) }},
		{"tenant", false, func(inv *toolspec.Invocation) { inv.Context.TenantID = "other" }},
		{"run", false, func(inv *toolspec.Invocation) { inv.Context.RunID = "other" }},
		{"actor", false, func(inv *toolspec.Invocation) { inv.Context.ActorID = "user:bob" }},
		{"subject", false, func(inv *toolspec.Invocation) { inv.Context.SubjectID = "" }},
		{"graph", false, func(inv *toolspec.Invocation) { inv.Context.GraphID = "" }},
		{"connection", false, func(inv *toolspec.Invocation) { inv.Context.ConnectionID = "c2" }},
		{"virtual key", false, func(inv *toolspec.Invocation) { inv.Context.VirtualKeyID = "" }},
		{"tools of the run", false, func(inv *toolspec.Invocation) { inv.Context.ToolIDs = []string{"a__b"} }},
		{"order of the tools of the run", false, func(inv *toolspec.Invocation) { inv.Context.ToolIDs = []string{"c__d", "a__b"} }},
		{"connections", false, func(inv *toolspec.Invocation) { inv.AllowedConnectionIDs = []string{"c1"} }},
		{"no connections", false, func(inv *toolspec.Invocation) { inv.AllowedConnectionIDs = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv := invocation()
			tc.change(&inv)
			if got := digest(t, inv); (got == whole) != tc.same {
				t.Errorf("the same digest: %v", got == whole)
			}
		})
	}
}

// TestDigestsTravel: a digest is the same at the caller and at the worker, and arguments that cannot be sent have no digest.
func TestDigestsTravel(t *testing.T) {
	for _, args := range []string{"", "null", "null\n", `{"a":1}`, " {\"a\":1}\r\n", `"{\"a\":1}"`, "\"{\\\"a\\\":1}\"\n", " \t\"{\\\"a\\\":1}\"", `"{'a':1}"`, `"\"{}\""`} {
		inv := invocation()
		if args != "" {
			inv.Args = json.RawMessage(args)
		}
		inv.Provider, inv.SubmitterProof = nil, ""
		sent, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		arrived, fault := hydrate.Decode(sent)
		if fault != nil {
			t.Fatal(fault)
		}
		if made, got := digest(t, inv), digest(t, arrived); made != got {
			t.Errorf("%q has the digest %s, and %s as it arrives", args, made, got)
		}
		made, _ := hydrate.Args(inv.Args)
		if got, _ := hydrate.Args(arrived.Args); string(made) != string(got) {
			t.Errorf("%q is %s, and %s as it arrives", args, made, got)
		}
	}
	for _, args := range []string{`"{\"a\":\"\ud800\"}"`, "\"{\\\"a\\\":\\\"\xff\\\"}\""} {
		inv := invocation()
		inv.Args = json.RawMessage(args)
		if d, err := hydrate.InputDigest(inv); err == nil {
			t.Errorf("%q has the digest %s", args, d)
		}
	}
}

// TestInputDigestLeavesItsInput: InputDigest does not sort the connections of its input.
func TestInputDigestLeavesItsInput(t *testing.T) {
	inv := invocation()
	inv.AllowedConnectionIDs = []string{"c2", "c1"}
	digest(t, inv)
	if inv.AllowedConnectionIDs[0] != "c2" || inv.Context.RequestID != "r" {
		t.Errorf("the invocation became %+v", inv)
	}
}

// TestArgsAndTheirDigest: two calls share a digest exactly if the tool would
// receive the same bytes.
func TestArgsAndTheirDigest(t *testing.T) {
	object := rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "é"}),
		rapid.SampledFrom([]string{"1", "1.0", "10", "1e1", `"x"`, `"\u0078"`, "null", "[1, 2]", "[1,2]"}), 0, 3),
		func(m map[string]string) string {
			var parts []string
			for k, v := range m {
				parts = append(parts, `"`+k+`": `+v)
			}
			return "{" + strings.Join(parts, ", ") + "}"
		})
	rapid.Check(t, func(t *rapid.T) {
		var args, digests [2]string
		for i, name := range []string{"first", "second"} {
			inv := invocation()
			inv.Args = json.RawMessage(object.Draw(t, name))
			if rapid.Bool().Draw(t, name+" as a string") {
				quoted, err := json.Marshal(string(inv.Args))
				if err != nil {
					t.Fatal(err)
				}
				inv.Args = quoted
			}
			canonical, fault := hydrate.Args(inv.Args)
			if fault != nil {
				t.Fatal(fault)
			}
			d, err := hydrate.InputDigest(inv)
			if err != nil {
				t.Fatal(err)
			}
			args[i], digests[i] = string(canonical), d
		}
		if (args[0] == args[1]) != (digests[0] == digests[1]) {
			t.Fatalf("%s and %s have the digests %s", args[0], args[1], digests)
		}
	})
}

// TestStringsInStrings: a string that holds a string is no object, and must not be
// vouched for by the digest of one that is.
func TestStringsInStrings(t *testing.T) {
	digests := map[string]string{}
	for _, args := range []string{`"{'a':1}"`, `"\"{'a':1}\""`, `" \"{'a':1}\""`, `"\"\\\"{'a':1}\\\"\""`, `"{}"`, `"\"{}\""`, `"{'a': 1}"`} {
		inv := invocation()
		inv.Args = json.RawMessage(args)
		d, err := hydrate.InputDigest(inv)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := digests[d]; taken {
			t.Errorf("%s and %s have one digest", args, other)
		}
		digests[d] = args
	}
}

// TestApprovedDigest: an approval is for one call exactly.
func TestApprovedDigest(t *testing.T) {
	a := hydrate.Approved{
		InvocationID: "i", ToolID: "core__a", ToolDigest: "d", Args: json.RawMessage(`{"b":1,"a":2}`),
		TenantID: "acme", ActorID: "user:ann", SubjectID: "user:sue", ConnectionID: "c",
	}
	whole, err := a.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*hydrate.Approved){
		"invocation": func(a *hydrate.Approved) { a.InvocationID = "x" }, "tool": func(a *hydrate.Approved) { a.ToolID = "x" },
		"tool digest": func(a *hydrate.Approved) { a.ToolDigest = "x" }, "args": func(a *hydrate.Approved) { a.Args = json.RawMessage(`{"b":1}`) },
		"tenant": func(a *hydrate.Approved) { a.TenantID = "x" }, "actor": func(a *hydrate.Approved) { a.ActorID = "x" },
		"subject": func(a *hydrate.Approved) { a.SubjectID = "" }, "connection": func(a *hydrate.Approved) { a.ConnectionID = "" },
	} {
		b := a
		change(&b)
		if got, err := b.Digest(); err != nil || got == whole {
			t.Errorf("%s changes nothing (%v)", name, err)
		}
	}
	a.Args = json.RawMessage(`{ "a": 2.0, "b": 1 }`)
	if got, err := a.Digest(); err != nil || got != whole {
		t.Errorf("the same arguments, spelled otherwise, give %s (%v)", got, err)
	}
	a.Args = json.RawMessage(`{`)
	if got, err := a.Digest(); err == nil {
		t.Errorf("broken arguments give %s", got)
	}
}
