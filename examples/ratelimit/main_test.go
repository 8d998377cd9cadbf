package main

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestRateLimit: an actor gets a slot, is sent away while it is taken, and gets one again when the
// first call ends.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	h := rateLimit(newSlots(1, time.Minute))
	first, second := pawltest.Call{ToolCallID: "first"}, pawltest.Call{ToolCallID: "second"}
	at := func(call pawltest.Call, point interface{ Stage() hook.Stage }) hook.Verdict {
		t.Helper()
		v, err := call.At(t, point, h)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := at(first, hook.WillAcquireQuota); v.Outcome != hook.Continue {
		t.Errorf("the first call: %+v", v)
	}
	if v := at(first, hook.WillAcquireQuota); v.Outcome != hook.Continue {
		t.Errorf("the first call again, after a crash: %+v", v)
	}
	if v := at(second, hook.WillAcquireQuota); v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodeRateLimited || v.Failure.RetryAfterMs != 1000 {
		t.Errorf("the second call: %+v", v)
	}
	other := pawltest.Call{Context: toolspec.Context{ActorID: "agent:other"}}
	if v := at(other, hook.WillAcquireQuota); v.Outcome != hook.Continue {
		t.Errorf("another actor: %+v", v)
	}
	at(first, hook.DidReleaseQuota)
	if v := at(second, hook.WillAcquireQuota); v.Outcome != hook.Continue {
		t.Errorf("the second call, when the first has ended: %+v", v)
	}
}

func TestBuildReport(t *testing.T) {
	t.Parallel()
	if got := (pawltest.Call{Tool: buildReport(), Args: reportIn{Milliseconds: 1}}).Run(t); string(got.Value) != `{"pages":1}` {
		t.Errorf("%s, %+v", got.Value, got.Result)
	}
	if got := (pawltest.Call{Tool: buildReport(), Args: reportIn{Milliseconds: 20_001}}).Run(t); got.Result.ErrorCode != toolspec.CodeValidation {
		t.Errorf("%+v", got.Result)
	}
}
