package calls

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/worker"
)

// mendingPolicy requires no approvals by its mode, and allows Pawl to repair the arguments of one tool.
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

// TestProvenance: every call, however it ends, has a row that says where its arguments came from and how they were changed. No row of any table and no line of
// the log has the masked values of the arguments. A call with repaired arguments waits for a person, even in the mode yolo. Of the provider's own form of
// the call, Pawl shows and stores ids and names only, and another form of the same call does not change its result (SP-05).
func TestProvenance(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, mendingPolicy)
	const secret = "correct-horse-battery"
	raw := e2etest.NewCanary()
	provider := func(name, sent string) *toolspec.Provider {
		return &toolspec.Provider{Name: "openai", ToolCall: json.RawMessage(`{"id":"call_` + name + `","signature":"` + sent +
			`","function":{"name":"the_` + name + `","arguments":"{\"text\":\"` + sent + `\"}"}}`)}
	}
	masks := func(d *toolspec.Definition) { d.Redaction.MaskInput, d.MaxArgsBytes = []string{"/note"}, 0 }
	w.Work(worker.Tools(e2etest.Tool("test__plain", e2etest.Echo, e2etest.Fast, masks),
		e2etest.Tool("test__connected", e2etest.Echo, e2etest.Fast, masks, func(d *toolspec.Definition) { d.RequiresConnection = true }),
		e2etest.Tool("test__mended", e2etest.Echo, e2etest.Fast, masks)))
	reader := pawl.New(w.Temporal, postgres.Of(w.Store).Options())
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
		{
			name: "unknown-tool", tool: "test__unknown", args: `{"note":"` + secret + `"}`, code: toolspec.CodeUnavailable,
			outcome: toolspec.HydrationInstantiate, kinds: []string{"unknown_tool"}, original: `{"note":string}`,
		},
		{
			name: "no-connection", tool: "test__connected", args: `{"note":"` + secret + `"}`, code: toolspec.CodeValidation,
			outcome: toolspec.HydrationInstantiate, kinds: []string{"missing_connection"}, original: `{"note":string}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.T = t
			inv := e2etest.Invocation(tc.name, tc.tool, tc.args)
			inv.Provider = provider(tc.name, string(raw))
			call := w.Start(inv)
			if tc.asks {
				view := w.Waiting(call.WorkflowID)
				if string(view.Args) != `{"note":"***","text":"hello"}` {
					t.Errorf("the approver sees %s", view.Args)
				}
				// The row exists before anybody has decided.
				if list := w.ReadRecord(inv).Hydrations; len(list) != 1 || !list[0].Provenance.Repaired {
					t.Errorf("while it waits there is %+v", list)
				}
				w.Approve(call.WorkflowID)
			}
			r := w.Result(call)
			if tc.code == "" {
				e2etest.WantText(t, r, "hello")
			} else {
				e2etest.WantCode(t, r, tc.code)
			}
			record := w.Record(inv)
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
				t.Errorf("provenance %s", e2etest.AsJSON(p))
			}
			if p.Provider != "openai" || p.ProviderToolID != "the_"+tc.name || p.ProviderCallID != "call_"+tc.name ||
				p.SourceBytes != len(inv.Provider.ToolCall) ||
				p.ToolID != tc.tool || len(p.OriginalDigest) != 64 || p.OriginalBytes != len(tc.args) ||
				tc.outcome != toolspec.HydrationInstantiate && (len(p.ToolDigest) != 64 || len(p.SchemaHash) != 64) {
				t.Errorf("provenance %s", e2etest.AsJSON(p))
			}
			if validated := tc.outcome != toolspec.HydrationParse && tc.outcome != toolspec.HydrationInstantiate; validated != (p.Validator != nil) || validated &&
				(p.Validator.Name == "" || p.Validator.Version == "" || p.Validator.CompiledAt != toolspec.CompiledAtStartup ||
					p.DurationUs <= 0) {
				t.Errorf("validator %+v in %d µs", p.Validator, p.DurationUs)
			}
			shown := w.PawlCLI("show "+tc.name, "show --json "+tc.name)
			printed := shown[0]
			for _, part := range append(slices.Concat(tc.repairs, tc.kinds), "the_"+tc.name) {
				if !strings.Contains(printed, part) {
					t.Errorf("pawl show does not say %s: %s", part, printed)
				}
			}
			if strings.Contains(printed, secret) {
				t.Error("pawl show says what is masked")
			}
			read, err := reader.Call(t.Context(), inv.Context.TenantID, inv.ToolCallID)
			if err != nil {
				t.Fatal(err)
			}
			if where := raw.Find([]e2etest.Trace{
				{Where: "pawl show", Text: []byte(printed)}, {Where: "pawl show --json", Text: []byte(shown[1])},
				{Where: "the record of the client", Text: []byte(e2etest.AsJSON(read))}, {Where: "the result", Text: []byte(e2etest.AsJSON(r))},
				{Where: "the state", Text: []byte(e2etest.AsJSON(w.State(call.WorkflowID)))},
			}); len(where) > 0 {
				t.Errorf("%v have the call of the provider", where)
			}
			other := inv
			other.Provider = provider("other", "hello")
			if again, run := w.Invoke(other), w.RunAgain(other); e2etest.AsJSON(again) != e2etest.AsJSON(r) || e2etest.AsJSON(run) != e2etest.AsJSON(r) {
				t.Errorf("with another call of the provider, the result is %s, and of another run %s; want %s", e2etest.AsJSON(again), e2etest.AsJSON(run), e2etest.AsJSON(r))
			}
			if after := w.Record(inv); e2etest.AsJSON(after) != e2etest.AsJSON(record) {
				t.Errorf("with another call of the provider, the record is %s, want %s", e2etest.AsJSON(after), e2etest.AsJSON(record))
			}
		})
	}
	rows := w.Rows()
	if where := raw.Find(append(rows, e2etest.Trace{Where: "log", Text: []byte(w.Log.String())})); len(where) > 0 {
		t.Errorf("%v have the call of the provider", where)
	}
	for _, row := range rows {
		if strings.Contains(string(row.Text), secret) || strings.Contains(string(row.Text), "horse") {
			t.Errorf("%s holds the secret: %s", row.Where, row.Text)
		}
	}
	if strings.Contains(w.Log.String(), "horse") {
		t.Error("the log holds the secret")
	}
}

// TestMendingIsPolicys: arguments are repaired only if the policy of the tenant allows it for the tool.
func TestMendingIsPolicys(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, mendingPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__plain", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__mended", e2etest.Echo, e2etest.Fast)))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("plain", "test__plain", `{"text":7}`)), toolspec.CodeValidation)
	other := e2etest.Invocation("other", "test__mended", `{"text":7}`)
	other.Context.TenantID = "globex"
	e2etest.WantCode(t, w.Invoke(other), toolspec.CodeValidation)
}

// openTool returns a tool that is declared as a tool without a schema.
func openTool() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "test__open", Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: toolspec.NoSchemaAsk,
	}, func(_ context.Context, args json.RawMessage, _ toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: string(args)}, nil
	})
}

// TestToolsWithoutSchema: if policy allows tools without a schema, each call needs an approval in every mode. If it does not, no such call runs (SP-24, C-42).
func TestToolsWithoutSchema(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, mendingPolicy)
	w.Work(worker.Tools(openTool()))
	inv := e2etest.Invocation("open", "test__open", `{"b":[1],"a":null}`)
	call := w.Start(inv)
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), `{"a":null,"b":[1]}`)
	if p := w.Record(inv).Hydrations[0].Provenance; p.Validator != nil || p.Outcome != toolspec.HydrationSuccess {
		t.Errorf("provenance %s", e2etest.AsJSON(p))
	}
	other := e2etest.Invocation("denied", "test__open", `{}`)
	other.Context.TenantID = "globex"
	e2etest.WantCode(t, w.Invoke(other), toolspec.CodePolicyDenied)
}

// rejectAll refuses all arguments.
type rejectAll struct{}

func (rejectAll) Info() toolspec.ValidatorInfo {
	return toolspec.ValidatorInfo{Name: "nobody", Version: "3", CompiledAt: toolspec.CompiledAtHydration}
}

func (rejectAll) Validate(json.RawMessage) []toolspec.Problem {
	return []toolspec.Problem{{Path: "/text", Kind: "never", Message: "no"}}
}

// TestOtherValidator: a validator of a worker is used instead of the built-in one, and the provenance names it (VA-21).
func TestOtherValidator(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast)),
		worker.Validators(func(toolspec.Spec) (hydrate.Validator, error) { return rejectAll{}, nil }))
	inv := e2etest.Invocation("call", "test__read", `{"text":"hello"}`)
	e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeValidation)
	if p := w.Record(inv).Hydrations[0].Provenance; p.Validator == nil || p.Validator.Name != "nobody" || p.Problems[0].Kind != "never" {
		t.Errorf("provenance %s", e2etest.AsJSON(p))
	}
}
