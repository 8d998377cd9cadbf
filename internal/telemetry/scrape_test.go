package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// useThousandTools counts calls of a thousand tools and one more, which end in three ways each.
func useThousandTools(tb testing.TB) *Telemetry {
	tb.Helper()
	tel := started(tb)
	tel.KnowTools(func(string) bool { return true })
	for n := range maxTools + 1 {
		tool := fmt.Sprintf("core__tool_%d", n)
		for _, code := range []toolspec.Code{toolspec.CodeTimeout, toolspec.CodeCancelled} {
			tel.ran(tb.Context(), "settle", settle(tool, toolspec.Result{ErrorCode: code}), contract.SettleOut{Outcome: contract.Done}, nil)
		}
		tel.ran(tb.Context(), "settle", settle(tool, toolspec.Result{OK: true}), contract.SettleOut{Outcome: contract.Done}, nil)
		tel.ran(tb.Context(), "execute", contract.ExecuteIn{Facts: hook.Facts{ToolID: tool}}, contract.ExecuteOut{Outcome: contract.Done}, nil)
	}
	return tel
}

// TestThousandTools: with a thousand tools, every tool has its series, and one more is "other". A series of /metrics costs few allocations.
// BenchmarkThousandTools measures the time, which depends on what else the machine does.
func TestThousandTools(t *testing.T) {
	tel := useThousandTools(t)
	body := scrape(t, tel)
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
	const maxAllocations = 25
	series := float64(strings.Count(body, "\n"))
	if n := testing.AllocsPerRun(5, func() { scrape(t, tel) }) / series; n > maxAllocations {
		t.Errorf("a series costs %.1f allocations; want %d at most", n, maxAllocations)
	}
}

// BenchmarkThousandTools: /metrics answers in 50 ms with a thousand tools.
func BenchmarkThousandTools(b *testing.B) {
	tel := useThousandTools(b)
	b.ReportAllocs()
	for b.Loop() {
		scrape(b, tel)
	}
	if took := b.Elapsed() / time.Duration(b.N); took > 50*time.Millisecond {
		b.Errorf("/metrics takes %s", took)
	}
}
