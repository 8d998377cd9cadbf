package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envtest"
	upkeepflow "github.com/pawl-run/pawl/workflows/upkeep"
)

// searching is a fake of the search through histories.
type searching struct {
	asked    contract.VerifyClosedIn
	findings int
	err      error
}

func (s *searching) Verify(_ context.Context, in contract.VerifyClosedIn) (contract.VerifyClosedOut, error) {
	s.asked = in
	return contract.VerifyClosedOut{SinceMs: in.SinceMs, UntilMs: in.UntilMs, Secrets: 3, Workflows: 2, Findings: s.findings}, s.err
}

func TestVerifyHistory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name     string
		last     *contract.VerifyClosedOut
		findings int
		err      error
		since    time.Duration // before now
		fault    string
	}{
		{"the first", nil, 0, nil, 24 * time.Hour, ""},
		{"the next", &contract.VerifyClosedOut{UntilMs: now.Add(-time.Hour).UnixMilli()}, 0, nil, time.Hour + 2*time.Minute, ""},
		{"after a long while", &contract.VerifyClosedOut{UntilMs: now.Add(-30 * 24 * time.Hour).UnixMilli()}, 0, nil, 7 * 24 * time.Hour, ""},
		{"after one that says it comes later", &contract.VerifyClosedOut{UntilMs: now.Add(time.Hour).UnixMilli()}, 0, nil, 24 * time.Hour, ""},
		{"after one that said nothing", &contract.VerifyClosedOut{}, 0, nil, 24 * time.Hour, ""},
		{"found", nil, 2, nil, 24 * time.Hour, "secrets stand in 2 places"},
		{"broken", nil, 0, errors.New("broken with words"), 24 * time.Hour, "a part of Pawl failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			env := envtest.New()
			env.SetStartTime(now)
			env.RegisterWorkflowWithOptions(upkeepflow.VerifyHistory, workflow.RegisterOptions{Name: upkeepflow.VerifyType})
			s := &searching{findings: tc.findings, err: tc.err}
			upkeep.NewVerifier(s, slog.New(slog.DiscardHandler)).Register(env)
			if tc.last != nil {
				env.SetLastCompletionResult(*tc.last)
			}
			env.ExecuteWorkflow(upkeepflow.VerifyType)
			if got := now.Sub(time.UnixMilli(s.asked.SinceMs)); got != tc.since || !time.UnixMilli(s.asked.UntilMs).Equal(now) {
				t.Errorf("it looks back %s, until %d; want %s", got, s.asked.UntilMs, tc.since)
			}
			err := env.GetWorkflowError()
			var failed *temporal.ApplicationError
			switch {
			case tc.fault == "" && err != nil:
				t.Error(err)
			case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
				t.Errorf("it ends with %v, want %q", err, tc.fault)
			case tc.findings > 0 && (!errors.As(err, &failed) || failed.Type() != upkeepflow.SecretsFound):
				t.Errorf("it ends with %v", err)
			}
			var out contract.VerifyClosedOut
			if tc.fault == "" && (env.GetWorkflowResult(&out) != nil || out.UntilMs != now.UnixMilli() || out.Secrets != 3) {
				t.Errorf("it ends with %+v", out)
			}
		})
	}
}
