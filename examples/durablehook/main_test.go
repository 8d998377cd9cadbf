package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestNotify: the service is told under the same key until it answers, and a refusal of it is noted
// and changes nothing.
func TestNotify(t *testing.T) {
	t.Parallel()
	status, bodies, keys := http.StatusServiceUnavailable, []string{}, map[string]bool{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies, keys[r.Header.Get("Idempotency-Key")] = append(bodies, string(body)), true
		w.WriteHeader(status)
	}))
	defer service.Close()
	h, call := notify(service.URL, service.Client()), pawltest.Call{ToolCallID: "one"}
	if v, err := call.At(t, hook.DidAudit, h); !errs.IsTransient(err) {
		t.Errorf("the service is away: %+v, %v", v, err)
	}
	status = http.StatusOK
	if v, err := call.At(t, hook.DidAudit, h); err != nil || len(v.Notes) > 0 {
		t.Errorf("the service answers: %+v, %v", v, err)
	}
	if len(bodies) != 2 || len(keys) != 1 || !strings.Contains(bodies[1], `"ok":true`) {
		t.Errorf("it was told %q under %v", bodies, keys)
	}
	status = http.StatusBadRequest
	if v, err := call.At(t, hook.DidAudit, h); err != nil || len(v.Notes) != 1 || v.Outcome != hook.Continue {
		t.Errorf("the service refuses: %+v, %v", v, err)
	}
}
