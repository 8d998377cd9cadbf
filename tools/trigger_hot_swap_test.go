package tools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type reloads struct {
	times int
	err   error
}

func (r *reloads) ReloadPolicy(context.Context) (capability.PolicyVersion, error) {
	r.times++
	return capability.PolicyVersion{Digest: "d1", ActivatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))}, r.err
}

func (r *reloads) ReloadTools(context.Context) error {
	r.times++
	return r.err
}

func TestTriggerHotSwap(t *testing.T) {
	swap := &reloads{}
	call := pawltest.Call{Tool: tools.TriggerHotSwap(), Args: `{"source":"policy"}`, Capabilities: []toolspec.Provided{capability.HotSwapKey.Provide(swap)}}
	if got := call.Run(t); string(got.Value) != `{"activatedAt":"2026-01-02T02:04:05Z","digest":"d1","source":"policy"}` || swap.times != 1 {
		t.Errorf("%d reloads: %s, %+v", swap.times, got.Value, got.Result)
	}
	swap.err = errors.New("connection refused by 10.0.0.7")
	if got := call.Run(t); !got.Retryable || strings.Contains(string(got.ModelContent), "10.0.0.7") {
		t.Errorf("without a database: %+v", got.Result)
	}
	swap.err = fmt.Errorf("database: %w", capability.ErrNoPolicy)
	if got := call.Run(t); got.Retryable || !strings.Contains(got.Result.SafeMessage, "no policy is active, so every call is denied") {
		t.Errorf("without a policy: %+v", got.Result)
	}
	swap.err, call.Args = nil, `{"source":"tools"}`
	if got := call.Run(t); string(got.Value) != `{"source":"tools"}` || swap.times != 4 {
		t.Errorf("%d reloads: %s, %+v", swap.times, got.Value, got.Result)
	}
	for _, args := range []string{`{}`, `{"source":"files"}`} {
		call.Args = args
		if got := call.Run(t).Result; got.ErrorCode != toolspec.CodeValidation || swap.times != 4 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
