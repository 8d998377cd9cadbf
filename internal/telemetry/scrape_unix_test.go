//go:build unix

package telemetry

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// processorTime is the time of processors that this process has used. Other processes do not change it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestThousandTools: /metrics answers in 50 ms of a processor with a thousand tools that have failed in several ways, and one more is "other".
func TestThousandTools(t *testing.T) {
	tel := started(t)
	tel.KnowTools(func(string) bool { return true })
	for n := range maxTools + 1 {
		tool := fmt.Sprintf("core__tool_%d", n)
		for _, code := range []toolspec.Code{toolspec.CodeTimeout, toolspec.CodeCancelled} {
			tel.ran(t.Context(), "settle", settle(tool, toolspec.Result{ErrorCode: code}), contract.SettleOut{Outcome: contract.Done}, nil)
		}
		tel.ran(t.Context(), "settle", settle(tool, toolspec.Result{OK: true}), contract.SettleOut{Outcome: contract.Done}, nil)
		tel.ran(t.Context(), "execute", contract.ExecuteIn{Facts: hook.Facts{ToolID: tool}}, contract.ExecuteOut{Outcome: contract.Done}, nil)
	}
	const scrapes = 5
	var body string
	began := processorTime(t)
	for range scrapes {
		body = scrape(t, tel)
	}
	took := (processorTime(t) - began) / scrapes
	if took > 50*time.Millisecond {
		t.Errorf("/metrics takes %s", took)
	}
	t.Logf("%s, %d bytes", took, len(body))
	for _, want := range []string{
		`pawl_calls_total{code="ok",effect="` + string(toolspec.ReadOnly) + `",tool="core__tool_999"} 1`, `pawl_attempts_total{outcome="done",tool="other"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(body, "core__tool_1000") || strings.Contains(body, "otel_metric_overflow") {
		t.Error("a tool has gone past the bound")
	}
}
