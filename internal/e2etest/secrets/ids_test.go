package secrets

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// readable has the fields of a context that may be in ids and search attributes, which are not encrypted (fault 52).
var readable = []string{"TenantID", "RunID"}

// TestIDsAndSearchAttributesTellNobody: ids and search attributes do not show who makes a call, for whom, and with which arguments. A new field of the context
// must be added to readable or must be hidden.
func TestIDsAndSearchAttributesTellNobody(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	encrypting(w, codecKey("k1"))
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)))
	inv := e2etest.Invocation("ann.smith@example.com, 1970", "test__fast", `{"text":"hello"}`)
	hidden := map[string]string{"toolCallId": inv.ToolCallID}
	fields := reflect.ValueOf(&inv.Context).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if fields.Field(i).Kind() != reflect.String || slices.Contains(readable, name) {
			continue
		}
		hidden[name] = "user:" + strings.ToLower(string(e2etest.NewCanary()[:12]))
		fields.Field(i).SetString(hidden[name])
	}
	inv.AllowedConnectionIDs = []string{inv.Context.ConnectionID}
	if len(hidden) < 6 {
		t.Fatalf("a context has %d fields", len(hidden))
	}
	w.Result(w.Start(inv))
	workflowID := inv.Identity().WorkflowID()
	description, err := proto.Marshal(w.Describe(workflowID))
	if err != nil {
		t.Fatal(err)
	}
	history := raw(w, workflowID)
	for name, value := range hidden {
		if strings.Contains(workflowID, value) || bytes.Contains(description, []byte(value)) || bytes.Contains(history, []byte(value)) {
			t.Errorf("%s can be read", name)
		}
	}
	got := w.Attributes(workflowID)
	for name := range got {
		if !slices.Contains(contract.SearchAttributeNames(), name) {
			t.Errorf("there is a search attribute %s", name)
		}
	}
	if got["PawlTenant"] != "acme" || got["PawlConnection"] == "" || got["PawlOutcome"] == "" {
		t.Errorf("the search attributes are %v", got)
	}
}
