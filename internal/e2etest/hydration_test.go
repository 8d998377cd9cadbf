package e2etest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/worker"
)

// mendingPolicy asks about nothing by itself, and lets arguments of one tool be mended.
const mendingPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: yolo
    repair: ["test__mended"]
    noSchemaMode: ask
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
  globex:
    allowedTools: ["test__*"]
    mode: yolo
`

// TestProvenance: every call leaves a row that says where its arguments came from and what was done to them, however it ended, and no row of
// any table, and no line of the log, holds what stood in them. A mended call waits for a person in the mode yolo.
func TestProvenance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mendingPolicy)
	const secret = "correct-horse-battery"
	masks := func(d *toolspec.Definition) { d.Redaction.MaskInput, d.MaxArgsBytes = []string{"/note"}, 0 }
	w.work(worker.Tools(tool("test__plain", echo, fast, masks), tool("test__mended", echo, fast, masks)))
	quote := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tc := range []struct {
		name, tool, args string
		asks             bool
		code             toolspec.Code
		outcome          toolspec.HydrationOutcome
		kinds            []string
		original         string
		repairs          []string
		tolerances       []string
	}{
		{name: "success", tool: "test__plain", args: `{"text":"hello","note":"` + secret + `"}`, outcome: toolspec.HydrationSuccess},
		{
			name: "tolerated", tool: "test__plain", args: quote(`{'text':'hello','note':'` + secret + `'}`), outcome: toolspec.HydrationSuccess,
			tolerances: []string{"string_wrapped", "single_quotes"},
		},
		{
			name: "parse", tool: "test__plain", args: quote(`{"text":"hello","note":"` + secret), code: toolspec.CodeInvalidJSON,
			outcome: toolspec.HydrationParse, kinds: []string{"invalid_json"}, original: `{"a":"a","a":"a.a.a`, tolerances: []string{"string_wrapped"},
		},
		{
			name: "validate", tool: "test__plain", args: `{"text":1,"nota":"` + secret + `"}`, code: toolspec.CodeValidation,
			outcome: toolspec.HydrationValidate, kinds: []string{"type_mismatch", "unknown_property"}, original: `{"nota":string,"text":number}`,
		},
		{
			name: "repair", tool: "test__mended", args: quote("```json\n{text: \"hello\", note: \"" + secret + "\",}\n```"), asks: true,
			outcome: toolspec.HydrationSuccess, kinds: []string{"invalid_json"}, original: "```a {a: \"a\", a: \"a.a.a\",} ```",
			repairs: []string{"markdown_fence", "trailing_comma", "unquoted_key"}, tolerances: []string{"string_wrapped"},
		},
		{
			name: "beyond-repair", tool: "test__mended", args: `{"text":{},"note":"` + secret + `"}`, code: toolspec.CodeValidation,
			outcome: toolspec.HydrationValidate, kinds: []string{"type_mismatch"}, original: `{"note":string,"text":{}}`,
		},
		{
			name: "too-large", tool: "test__plain", args: `{"text":"` + strings.Repeat("a", 8193) + `"}`, code: toolspec.CodeValidation,
			outcome: toolspec.HydrationParse, kinds: []string{"too_large"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			inv := invocation(tc.name, tc.tool, tc.args)
			inv.Provider = &toolspec.Provider{Name: "openai", ToolCall: json.RawMessage(`{"id":"call_` + tc.name + `","function":{"name":"the_` + tc.name + `"}}`)}
			call := w.start(inv)
			if tc.asks {
				view := w.waiting(call.WorkflowID)
				if string(view.Args) != `{"note":"***","text":"hello"}` {
					t.Errorf("the approver sees %s", view.Args)
				}
				// The row is there before anybody has decided.
				if list := w.readRecord(inv).Hydrations; len(list) != 1 || !list[0].Provenance.Repaired {
					t.Errorf("while it waits there is %+v", list)
				}
				w.approve(call.WorkflowID)
			}
			r := w.result(call)
			if tc.code == "" {
				wantText(t, r, "hello")
			} else {
				wantCode(t, r, tc.code)
			}
			record := w.record(inv)
			if len(record.Hydrations) != 1 || (len(record.Approvals) > 0) != tc.asks {
				t.Fatalf("%d approvals, hydrations %+v", len(record.Approvals), record.Hydrations)
			}
			p := record.Hydrations[0].Provenance
			var kinds []string
			for _, q := range p.Problems {
				kinds = append(kinds, q.Kind)
			}
			if p.Outcome != tc.outcome || !slices.Equal(kinds, tc.kinds) || p.Original != tc.original || !slices.Equal(p.Repairs, tc.repairs) ||
				!slices.Equal(p.Tolerances, tc.tolerances) || p.Repaired != tc.asks {
				t.Errorf("provenance %s", asJSON(p))
			}
			if p.Provider != "openai" || p.ProviderToolID != "the_"+tc.name || p.ProviderCallID != "call_"+tc.name || p.SourceBytes != len(inv.Provider.ToolCall) ||
				p.ToolID != tc.tool || len(p.ToolDigest) != 64 || len(p.SchemaHash) != 64 || len(p.OriginalDigest) != 64 || p.OriginalBytes != len(tc.args) {
				t.Errorf("provenance %s", asJSON(p))
			}
			if validated := tc.outcome != toolspec.HydrationParse; validated != (p.Validator != nil) || validated && (p.Validator.Name == "" || p.Validator.Version == "" || p.Validator.CompiledAt != toolspec.CompiledAtStartup || p.DurationUs <= 0) {
				t.Errorf("validator %+v in %d µs", p.Validator, p.DurationUs)
			}
			printed := w.pawlCLI("show " + tc.name)[0]
			for _, part := range append(slices.Concat(tc.repairs, tc.kinds), "the_"+tc.name) {
				if !strings.Contains(printed, part) {
					t.Errorf("pawl show does not say %s: %s", part, printed)
				}
			}
			if strings.Contains(printed, secret) {
				t.Error("pawl show says what is masked")
			}
		})
	}
	for _, row := range w.rows() {
		if strings.Contains(string(row.text), secret) || strings.Contains(string(row.text), "horse") {
			t.Errorf("%s holds the secret: %s", row.where, row.text)
		}
	}
	if strings.Contains(w.log.String(), "horse") {
		t.Error("the log holds the secret")
	}
}

// TestMendingIsPolicys: where policy does not say so nothing is mended, and a tenant has no say for another.
func TestMendingIsPolicys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mendingPolicy)
	w.work(worker.Tools(tool("test__plain", echo, fast), tool("test__mended", echo, fast)))
	wantCode(t, w.invoke(invocation("plain", "test__plain", `{"text":7}`)), toolspec.CodeValidation)
	other := invocation("other", "test__mended", `{"text":7}`)
	other.Context.TenantID = "globex"
	wantCode(t, w.invoke(other), toolspec.CodeValidation)
}

// openTool has no schema, and says so.
func openTool() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "test__open", Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: toolspec.NoSchemaAsk,
	}, func(_ context.Context, args json.RawMessage, _ toolspec.Call) (out, error) {
		return out{Text: string(args)}, nil
	})
}

// TestToolsWithoutSchema: a person is asked in every mode where policy lets such tools be, and nothing runs where it does not (SP-24, C-42).
func TestToolsWithoutSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mendingPolicy)
	w.work(worker.Tools(openTool()))
	inv := invocation("open", "test__open", `{"b":[1],"a":null}`)
	call := w.start(inv)
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), `{"a":null,"b":[1]}`)
	if p := w.record(inv).Hydrations[0].Provenance; p.Validator != nil || p.Outcome != toolspec.HydrationSuccess {
		t.Errorf("provenance %s", asJSON(p))
	}
	other := invocation("denied", "test__open", `{}`)
	other.Context.TenantID = "globex"
	wantCode(t, w.invoke(other), toolspec.CodePolicyDenied)
}

// nobody accepts nothing.
type nobody struct{}

func (nobody) Info() toolspec.ValidatorInfo {
	return toolspec.ValidatorInfo{Name: "nobody", Version: "3", CompiledAt: toolspec.CompiledAtHydration}
}

func (nobody) Validate(json.RawMessage) []toolspec.Problem {
	return []toolspec.Problem{{Path: "/text", Kind: "never", Message: "no"}}
}

// TestOtherValidator: a worker's own validator stands in the place of the built-in one, and in the provenance (VA-21).
func TestOtherValidator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__read", echo, fast)), worker.Validators(func(toolspec.Spec) (hydrate.Validator, error) { return nobody{}, nil }))
	inv := invocation("call", "test__read", `{"text":"hello"}`)
	wantCode(t, w.invoke(inv), toolspec.CodeValidation)
	if p := w.record(inv).Hydrations[0].Provenance; p.Validator == nil || p.Validator.Name != "nobody" || p.Problems[0].Kind != "never" {
		t.Errorf("provenance %s", asJSON(p))
	}
}
