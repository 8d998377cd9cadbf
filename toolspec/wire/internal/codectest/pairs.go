package codectest

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Model plays the model of one format: it reads the tools of a request and calls
// each of them once, with args[i] for the tool i, in a whole response and in a
// stream. Draw lets the stream vary.
type Model func(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte)

// pairsPerCheck is the number of pairs of one check. rapid makes 100 checks, so a format
// is tested with 1 000 pairs.
const pairsPerCheck = 10

// RoundTrip makes pairs of a schema and a value of it, offers tools with the schemas, lets the
// model call them with the values, and compares the arguments of the decoded calls, whole and
// streamed. They must be byte for byte what the model wrote. The model writes the strict form for a
// strict tool: then the stored mapping must give the value back.
func RoundTrip(t *testing.T, codec wire.Codec, model Model) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		tools := make([]wire.Tool, pairsPerCheck)
		args := make([]json.RawMessage, pairsPerCheck)
		values := make([]json.RawMessage, pairsPerCheck)
		mappings := make([]json.RawMessage, pairsPerCheck)
		for i := range tools {
			pair := schematest.Pairs().Draw(t, "pair")
			tools[i] = wire.Tool{
				Name:        fmt.Sprintf("%s_%d", rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,59}`).Draw(t, "name"), i),
				Description: rapid.String().Draw(t, "description"),
				Schema:      pair.Schema,
				Strict:      rapid.Bool().Draw(t, "strict"),
			}
			args[i], values[i] = pair.Value, pair.Value
			if tools[i].Strict {
				tools[i].Schema, args[i], mappings[i] = strict(t, pair)
			}
		}
		encoded, err := codec.Tools(tools)
		if err != nil {
			t.Fatal(err)
		}
		response, stream := model(t, encoded, args)
		whole, err := codec.Decode(response)
		if err != nil {
			t.Fatalf("%v in %s", err, response)
		}
		s := codec.Stream()
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 512)).Draw(t, "piece")
			if _, err := s.Write(rest[:n]); err != nil {
				t.Fatalf("%v in %s", err, stream)
			}
			rest = rest[n:]
		}
		streamed, err := s.End()
		if err != nil {
			t.Fatal(err)
		}
		for what, r := range map[string]wire.Response{"whole": whole, "streamed": streamed} {
			if len(r.Calls) != len(args) || r.Finish != wire.FinishCalls {
				t.Fatalf("%s: %d calls, finish %s, want %d", what, len(r.Calls), r.Finish, len(args))
			}
			for i, c := range r.Calls {
				if c.Name != tools[i].Name || c.Fault != "" || string(c.Args) != string(args[i]) {
					t.Fatalf("%s: call %d is %s(%s), fault %q, want %s(%s)", what, i, c.Name, c.Args, c.Fault, tools[i].Name, args[i])
				}
				if mappings[i] != nil {
					restores(t, mappings[i], c.Args, values[i])
				}
			}
		}
	})
}

// strict returns the strict form of a schema, the value in this form, and the mapping as JSON.
func strict(t *rapid.T, pair schematest.Pair) (sent, args, mapping json.RawMessage) {
	form, err := schema.Down(pair.Schema, schema.OpenAIStrict)
	if err != nil {
		t.Fatalf("%v: %s", err, pair.Schema)
	}
	mapping = encode(form.Mapping)
	return form.Document, pair.Strict(mapping), mapping
}

func restores(t *rapid.T, kept, args, value json.RawMessage) {
	var mapping schema.Mapping
	if err := json.Unmarshal(kept, &mapping); err != nil {
		t.Fatal(err)
	}
	got, err := mapping.Restore(args)
	if err != nil {
		t.Fatal(err)
	}
	same, err := strictjson.Canonical(got)
	if err != nil {
		t.Fatal(err)
	}
	want, err := strictjson.Canonical(value)
	if err != nil {
		t.Fatal(err)
	}
	if string(same) != string(want) {
		t.Fatalf("%s of the strict form became %s, want %s", args, same, want)
	}
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was made here
	}
	return raw
}
