package takeovers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/worker"
)

// TestForeignTool: a tool that consists of a schema document and a function over JSON
// is treated like every tool. Its schema is published unchanged, arguments that do not
// fit the schema are refused, its output must fit the output schema, and it is
// redacted (SP-15, SP-18).
func TestForeignTool(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	const (
		input = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
  "properties": {"repo": {"type": "string", "pattern": "^[^/]+/[^/]+$"}, "labels": {"type": "array", "items": {"$ref": "#/$defs/label"}}},
  "required": ["repo"], "$defs": {"label": {"enum": ["bug", "idea"]}}
}`
		output = `{"type":"object","properties":{"count":{"type":"integer"},"repo":{"type":"string"},"mail":{"type":"string"}},"required":["count"]}`
	)
	var effects e2etest.Ledger
	foreign := toolspec.DefineSchema(toolspec.Definition{
		ID: "test__count_issues", Description: "Counts the issues of a repository.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, MaxAttempts: 1,
		Redaction: toolspec.Redaction{Allow: []string{"/count", "/repo"}},
	}, json.RawMessage(input), json.RawMessage(output), func(_ context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
		effects.Add(call)
		var in struct {
			Repo string `json:"repo"`
		}
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		switch in.Repo {
		case "acme/panics":
			panic("canary")
		case "acme/wrong":
			return json.RawMessage(`{"count":"many"}`), nil
		case "acme/broken":
			return json.RawMessage(`{"count":`), nil
		}
		return json.RawMessage(`{"count":7,"repo":"` + in.Repo + `","mail":"ann@acme.test","more":1}`), nil
	})
	w.Work(worker.Tools(foreign))

	for call, c := range map[string]struct {
		args, value string
		code        toolspec.Code
		says        string
		runs        int
	}{
		"right":         {args: `{"repo":"acme/shop","labels":["bug"]}`, value: `{"count":7,"repo":"acme/shop"}`, runs: 1},
		"as a string":   {args: `"{\"repo\":\"acme/shop\"}"`, value: `{"count":7,"repo":"acme/shop"}`, runs: 1},
		"no JSON":       {args: `"{\"repo\":"`, code: toolspec.CodeInvalidJSON},
		"unknown":       {args: `{"repo":"acme/shop","state":"open"}`, code: toolspec.CodeValidation, says: "state"},
		"missing":       {args: `{}`, code: toolspec.CodeValidation, says: "repo"},
		"no such label": {args: `{"repo":"acme/shop","labels":["big"]}`, code: toolspec.CodeValidation, says: "labels"},
		"no such form":  {args: `{"repo":"acme"}`, code: toolspec.CodeValidation, says: "repo"},
		"panics":        {args: `{"repo":"acme/panics"}`, code: toolspec.CodeExecution, runs: 1},
		"wrong value":   {args: `{"repo":"acme/wrong"}`, code: toolspec.CodeOutputValidation, runs: 1},
		"broken value":  {args: `{"repo":"acme/broken"}`, code: toolspec.CodeOutputValidation, runs: 1},
	} {
		id := strings.ReplaceAll(call, " ", "-")
		result := w.Result(w.Start(e2etest.Invocation(id, "test__count_issues", c.args)))
		if c.code != "" {
			e2etest.WantCode(t, result, c.code)
			if !strings.Contains(result.SafeMessage, c.says) || strings.Contains(result.SafeMessage, "canary") {
				t.Errorf("%s: %q does not speak of %q", call, result.SafeMessage, c.says)
			}
		} else if !result.OK || string(result.Value) != c.value {
			t.Errorf("%s: got %+v, want %s", call, result, c.value)
		}
		if got := effects.Of(id); got != c.runs {
			t.Errorf("%s: it ran %d times, not %d", call, got, c.runs)
		}
	}

	visible, err := w.Store.Catalog(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor})
	if err != nil {
		t.Fatal(err)
	}
	published, ok := visible.Get("test__count_issues")
	want, err := strictjson.Digest([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := strictjson.Digest(published.InputSchema); !ok || err != nil || got != want || published.SchemaHash != want || published.NoSchema {
		t.Errorf("published as %+v", published)
	}
}
