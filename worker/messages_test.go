package worker

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestAWrongNamespaceIsNamed: a wrong namespace is not reported as missing search attributes.
func TestAWrongNamespaceIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := needNamespace(t.Context(), w.temporal, "nowhere")
	if err == nil || !strings.Contains(err.Error(), `no namespace "nowhere"`) || !strings.Contains(err.Error(), "TEMPORAL_NAMESPACE") || strings.Contains(err.Error(), "search attributes") {
		t.Errorf("of a wrong namespace it says %v", err)
	}
	if err := needNamespace(t.Context(), w.temporal, w.config.Temporal.Namespace); err != nil {
		t.Errorf("of the right one: %v", err)
	}
}

// TestAMissingKeyRingIsNamed: the error for a tool that uses connections names the key ring, and not a
// capability.
func TestAMissingKeyRingIsNamed(t *testing.T) {
	t.Parallel()
	uses := toolspec.Define(toolspec.Definition{
		ID: "test__uses", Description: "Uses a connection.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Capabilities: []toolspec.CapabilityName{capability.ClientsKey.Name()}, RequiresConnection: true, Redaction: toolspec.Redaction{Allow: []string{"/a"}},
	}, func(context.Context, struct{}, toolspec.Call) (struct {
		A string `json:"a"`
	}, error) {
		panic("it is not called")
	})
	none, err := toolspec.NewCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	err = needKeyRing([]toolspec.Tool{uses}, none)
	if err == nil || !strings.Contains(err.Error(), `"test__uses"`) || !strings.Contains(err.Error(), "PAWL_KEYRING_FILE") {
		t.Errorf("without a key ring it says %v", err)
	}
	some, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := needKeyRing([]toolspec.Tool{uses}, some); err != nil {
		t.Errorf("with one: %v", err)
	}
}
