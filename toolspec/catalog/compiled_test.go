package catalog_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

type narrow struct {
	Text string `json:"text" jsonschema:"maxLength=3"`
}

type wide struct {
	Text string `json:"text" jsonschema:"maxLength=30"`
}

func validated[In any]() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "core__validated", Description: "A tool.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(context.Context, In, toolspec.Call) (wide, error) { return wide{}, nil })
}

// TestSchemasAreCompiledOnce (PF-04): a call validates with the schema that was compiled at
// registration. Allocations would show another compilation. A tool with another schema has another
// digest, and its schema is compiled.
func TestSchemasAreCompiledOnce(t *testing.T) {
	r := catalog.NewRegistry(toolspec.Capabilities{})
	if err := r.Add("test", validated[narrow]()); err != nil {
		t.Fatal(err)
	}
	first, _ := r.Get("core__validated")
	long := json.RawMessage(`{"text":"four"}`)
	validate := func() {
		if bound, ok := r.Get("core__validated"); !ok || bound != first || len(bound.ValidateInput(long)) != 1 {
			t.Error("the schema accepts too much, or is another one")
		}
	}
	compile := testing.AllocsPerRun(10, func() {
		if _, err := jsonschema.Compile(first.Spec().InputSchema); err != nil {
			t.Error(err)
		}
	})
	if perCall := testing.AllocsPerRun(100, validate); perCall > compile/4 {
		t.Errorf("a validation allocates %v times, a compilation %v times", perCall, compile)
	} else {
		t.Logf("a validation allocates %v times, a compilation %v times", perCall, compile)
	}
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(validate)
	}
	calls.Wait()

	r.Remove("core__validated")
	if err := r.Add("test", validated[wide]()); err != nil {
		t.Fatal(err)
	}
	second, _ := r.Get("core__validated")
	if second.Spec().SchemaHash == first.Spec().SchemaHash || second.Digest() == first.Digest() || len(second.ValidateInput(long)) != 0 {
		t.Errorf("the other schema is not used: %+v", second.Spec())
	}
}
