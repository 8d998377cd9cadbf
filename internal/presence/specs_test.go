package presence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// theirs is a validator of a user.
type theirs struct{ hydrate.Validator }

func (theirs) Info() toolspec.ValidatorInfo {
	return toolspec.ValidatorInfo{Name: "theirs", Version: "7", CompiledAt: toolspec.CompiledAtHydration}
}

// TestValidatorOf: the published spec names the same validator as the provenance of the calls.
func TestValidatorOf(t *testing.T) {
	t.Parallel()
	spec := toolspec.Spec{Name: "test__a", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if v := validatorOf(spec, nil); v == nil || v.Name != "pawl" || v.Version == "" {
		t.Errorf("by itself: %+v", v)
	}
	other := func(toolspec.Spec) (hydrate.Validator, error) { return theirs{}, nil }
	if v := validatorOf(spec, other); v == nil || v.Name != "theirs" || v.Version != "7" {
		t.Errorf("with another: %+v", v)
	}
	for name, broken := range map[string]func(toolspec.Spec) (hydrate.Validator, error){
		"one that is nil": func(toolspec.Spec) (hydrate.Validator, error) { return nil, nil },
		"one that fails":  func(toolspec.Spec) (hydrate.Validator, error) { return theirs{}, errors.New("no") },
	} {
		if v := validatorOf(spec, broken); v != nil {
			t.Errorf("with %s: %+v", name, v)
		}
	}
	spec.NoSchema = true
	if v := validatorOf(spec, other); v != nil {
		t.Errorf("without a schema: %+v", v)
	}
}

// TestLogFindings: the log has one bounded line for a schema with findings, once, at the start, and no line for
// a schema without findings.
func TestLogFindings(t *testing.T) {
	t.Parallel()
	said := func(s toolspec.Spec) string {
		var b bytes.Buffer
		logFindings(t.Context(), slog.New(slog.NewTextHandler(&b, nil)), s)
		return b.String()
	}
	linted := toolspec.Spec{Name: "test__a", InputSchema: json.RawMessage(`{"type":"object","anyOf":[{}],"properties":{"a":{"type":"array","minContains":1}}}`)}
	text := said(linted)
	for _, part := range []string{"toolId=test__a", "count=2", "/anyOf: not every provider takes it", "/properties/a/minContains: "} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if strings.Count(text, "\n") != 1 {
		t.Errorf("it is several lines: %s", text)
	}
	many := linted
	many.InputSchema = json.RawMessage(`{"type":"object","properties":{` + manyUnions(40) + `}}`)
	if text := said(many); strings.Count(text, "not every provider") != maxLogged || !strings.Contains(text, "count=40") {
		t.Errorf("of many it says %s", text)
	}
	linted.NoSchema = true
	plain := toolspec.Spec{Name: "test__b", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
	if text := said(linted) + said(plain); text != "" {
		t.Errorf("of nothing it says %s", text)
	}
}

// TestFindingsOfManyTools: a source with many tools does not fill the log.
func TestFindingsOfManyTools(t *testing.T) {
	t.Parallel()
	registry := catalog.NewRegistry(toolspec.Capabilities{})
	for i := range maxLinted + 5 {
		tool := toolspec.DefineSchema(toolspec.Definition{
			ID: fmt.Sprint("test__t", i), Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, json.RawMessage(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}},"additionalProperties":false}`), json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			func(context.Context, json.RawMessage, toolspec.Call) (json.RawMessage, error) { return nil, nil })
		if err := registry.Add("worker", tool); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	p := &published{tools: registry, log: slog.New(slog.NewTextHandler(&b, nil))}
	for range 2 {
		p.specs(t.Context())
	}
	if n := strings.Count(b.String(), "\n"); n != maxLinted+1 || !strings.Contains(b.String(), "tools=5") {
		t.Errorf("%d lines: %s", n, b.String())
	}
}

func manyUnions(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"p` + strings.Repeat("x", i) + `":{"anyOf":[{}]}`
	}
	return strings.Join(members, ",")
}
