package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// stored are outputs of tenant acme.
type stored map[string]string

func (s stored) Output(_ context.Context, tenantID, ref string) (json.RawMessage, error) {
	if value, ok := s[ref]; ok && tenantID == "acme" {
		return json.RawMessage(value), nil
	}
	return nil, errors.New("no such output")
}

// away has no output any more.
type away struct{ err error }

func (a away) Output(context.Context, string, string) (json.RawMessage, error) { return nil, a.err }

// TestAnswers: what a model is told of a result (AG-07, WF-16, C-20).
func TestAnswers(t *testing.T) {
	t.Parallel()
	problem := toolspec.Problem{Path: "/limit", Kind: "type_mismatch", Message: "Invalid type for field: limit"}
	failed := toolspec.Failure
	late := failed(toolspec.CodeRateLimited, "", nil)
	late.RetryAfterMs = 1500
	list := "[" + strings.Repeat(`{"name":"file.txt"},`, 4999) + `{"name":"file.txt"}]`
	text := `"ab` + strings.Repeat("é<", 30<<10) + `"` // so that a cut falls into a character
	inRecord := toolspec.Identity{TenantID: "acme", RunID: "r", ToolCallID: "c1"}.InvocationID()
	for _, tc := range []struct {
		name   string
		result toolspec.Result
		want   string // all of it, or "" to look at it
		look   func(t *testing.T, content []byte)
		ref    string
	}{
		{name: "a value", result: toolspec.Result{OK: true, Value: json.RawMessage(`{"a":"<b>"}`)}, want: `{"a":"<b>"}`},
		{name: "no value", result: toolspec.Result{OK: true}, want: `null`},
		{name: "as much as there may be", result: toolspec.Result{OK: true, Value: json.RawMessage(`"` + strings.Repeat("x", MaxAnswer-2) + `"`)}, want: `"` + strings.Repeat("x", MaxAnswer-2) + `"`},
		{name: "no JSON", result: failed(toolspec.CodeInvalidJSON, "", &toolspec.Details{Kind: "invalid_json", Problems: []toolspec.Problem{{Kind: "invalid_json", Message: "Invalid tool arguments JSON"}}}),
			want: `{"ok":false,"errorCode":"invalid_json","message":"Invalid tool arguments JSON"}`},
		{name: "arguments that do not fit", result: failed(toolspec.CodeValidation, "/limit: Invalid type for field: limit", &toolspec.Details{Path: "/limit", Problems: []toolspec.Problem{problem}}),
			want: `{"ok":false,"errorCode":"validation","message":"/limit: Invalid type for field: limit","details":{"problems":[{"path":"/limit","kind":"type_mismatch","message":"Invalid type for field: limit"}]}}`},
		{name: "denied: nothing of the rule", result: failed(toolspec.CodePolicyDenied, "", &toolspec.Details{Rule: "rules[3]: not for interns", Stage: "willAuthorize", ApprovalID: "x.1"}),
			want: `{"ok":false,"errorCode":"policy_denied","message":"Permission denied by policy"}`},
		{name: "a hook's own code", result: failed(toolspec.CodeAborted, "not today", &toolspec.Details{Code: "hidden_file"}),
			want: `{"ok":false,"errorCode":"aborted","message":"not today","details":{"code":"hidden_file"}}`},
		{name: "later", result: late, want: `{"ok":false,"errorCode":"rate_limited","message":"Rate limit reached","retryAfterMs":1500}`},
		{name: "many problems", result: failed(toolspec.CodeValidation, "no", &toolspec.Details{Problems: manyProblems(40, 100)}), look: func(t *testing.T, content []byte) {
			if n := strings.Count(string(content), `"path"`); n != 16 {
				t.Errorf("%d problems are told", n)
			}
		}},
		{name: "large problems", result: failed(toolspec.CodeValidation, "no", &toolspec.Details{Problems: manyProblems(16, 4000)}), look: func(t *testing.T, content []byte) {
			if n := strings.Count(string(content), `"path"`); n < 5 || n > 8 {
				t.Errorf("%d problems are told", n)
			}
		}},
		{name: "a large list", result: toolspec.Result{OK: true, Value: json.RawMessage(list)}, look: func(t *testing.T, content []byte) {
			p := decodePreview(t, content)
			shown, ok := p["preview"].([]any)
			if !ok || len(shown) < 1000 || p["count"] != float64(5000) || p["bytes"] != float64(len(list)) {
				t.Errorf("it is %d of %v", len(shown), p["count"])
			}
		}},
		{name: "a large text", result: toolspec.Result{OK: true, Value: json.RawMessage(text)}, look: func(t *testing.T, content []byte) {
			p := decodePreview(t, content)
			shown, ok := p["preview"].(string)
			if !ok || !strings.HasPrefix(shown, "abé<é<") || len(shown) < 8<<10 || p["count"] != float64(60<<10+2) || strings.ContainsRune(shown, '\ufffd') {
				t.Errorf("it is %d bytes of %v", len(shown), p["count"])
			}
		}},
		{name: "a list with one large element", result: toolspec.Result{OK: true, Value: json.RawMessage("[" + text + "]")}, look: func(t *testing.T, content []byte) {
			if p := decodePreview(t, content); p["count"] != float64(1) || !strings.HasPrefix(p["preview"].(string), `["abé<`) { //nolint:forcetypeassert // it panics the test
				t.Errorf("it is %.100v", p)
			}
		}},
		{name: "a large object full of quotes", result: toolspec.Result{OK: true, Value: json.RawMessage(`{"a":"` + strings.Repeat(`\"`, 20<<10) + `","b":1}`)}, look: func(t *testing.T, content []byte) {
			if p := decodePreview(t, content); p["count"] != float64(2) || !strings.HasPrefix(p["preview"].(string), `{"a":"\"`) { //nolint:forcetypeassert // it panics the test
				t.Errorf("it is %.100v", p)
			}
		}},
		{name: "an empty list, far apart", result: toolspec.Result{OK: true, Value: json.RawMessage("[" + strings.Repeat(" ", 40<<10) + "]")}, want: `{"preview":[],"count":0,"bytes":40962,"truncated":true,"more":"the rest is not stored"}`},
		{name: "null, far from the end", result: toolspec.Result{OK: true, Value: json.RawMessage("null" + strings.Repeat("\n", 40<<10))}, want: `null`},
		{name: "one that stands in its record", result: toolspec.Result{OK: true, InvocationID: inRecord, Value: json.RawMessage(list[:48<<10] + `"}]`)}, ref: inRecord + ".result",
			look: func(t *testing.T, content []byte) { decodePreview(t, content) }},
		{name: "one that is stored", result: toolspec.Result{OK: true, OutputRef: "out_1"}, ref: "out_1", look: func(t *testing.T, content []byte) {
			if p := decodePreview(t, content); p["count"] != float64(5000) {
				t.Errorf("it is %.100v", p)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := client.New(nil, client.Options{Outputs: stored{"out_1": list}})
			a, err := formAnswer(t.Context(), c, "acme", Outcome{Call: wire.Call{Index: 3, ID: "c1", Name: "test__x"}, Result: tc.result}, new(maxAllMedia))
			if err != nil {
				t.Fatal(err)
			}
			if a.CallID != "c1" || a.Name != "test__x" || a.Index != 3 || a.IsError == tc.result.OK || a.OutputRef != tc.ref {
				t.Errorf("the answer is %+v", a)
			}
			if len(a.Content) > MaxAnswer || !json.Valid(a.Content) {
				t.Errorf("%d bytes, valid: %t", len(a.Content), json.Valid(a.Content))
			}
			if tc.want != "" && string(a.Content) != tc.want {
				t.Errorf("it is told %s, want %s", a.Content, tc.want)
			}
			if tc.look != nil {
				tc.look(t, a.Content)
			}
		})
	}
	large := Outcome{Result: toolspec.Result{OK: true, OutputRef: "out_1"}}
	if a, err := formAnswer(t.Context(), client.New(nil, client.Options{}), "acme", large, new(maxAllMedia)); err != nil || !strings.HasPrefix(string(a.Content), `{"truncated":true,"outputRef":"out_1","more":"core__tool_output_cache`) || a.OutputRef != "out_1" {
		t.Errorf("without a reader of outputs: %+v, %v", a, err)
	}
	if a, err := formAnswer(t.Context(), client.New(nil, client.Options{Outputs: stored{}}), "globex", large, new(maxAllMedia)); err == nil {
		t.Errorf("of another tenant's: %s", a.Content)
	}
	for _, gone := range []error{client.ErrNotFound, output.ErrExpired} {
		if a, err := formAnswer(t.Context(), client.New(nil, client.Options{Outputs: away{gone}}), "acme", large, new(maxAllMedia)); err != nil || a.IsError || a.OutputRef != "out_1" {
			t.Errorf("%v: %+v, %v", gone, a, err)
		}
	}
}

func manyProblems(n, size int) (all []toolspec.Problem) {
	for range n {
		all = append(all, toolspec.Problem{Path: "/a", Kind: "type_mismatch", Message: strings.Repeat("m", size)})
	}
	return all
}

func decodePreview(t *testing.T, content []byte) (p map[string]any) {
	t.Helper()
	if err := json.Unmarshal(content, &p); err != nil || p["truncated"] != true {
		t.Fatalf("%.100s, %v", content, err)
	}
	return p
}

// TestBatches: reads run beside each other, and an effect alone (AG-09).
func TestBatches(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{
		"": "", "r": "0", "w": "0", "rrr": "012", "www": "0|1|2", "rwr": "0|1|2", "rrwwrrr": "01|2|3|456", "wrr": "0|12", "rrw": "01|2",
	} {
		calls := make([]PlannedCall, len(order))
		for i, c := range order {
			calls[i].Alone = c == 'w'
		}
		var got []string
		for _, batch := range batches(calls, false) {
			var b strings.Builder
			for _, i := range batch {
				b.WriteByte(byte('0' + i))
			}
			got = append(got, b.String())
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s runs as %s, want %s", order, text, want)
		}
		if n := len(batches(calls, true)); len(order) > 0 && n != 1 {
			t.Errorf("%s, all together, runs in %d batches", order, n)
		}
	}
}
