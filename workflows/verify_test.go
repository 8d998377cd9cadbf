package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/workflows"
)

// searching answers in place of a search.
type searching struct {
	asked    workflows.VerifyClosedIn
	findings int
	err      error
}

func (s *searching) Verify(_ context.Context, in workflows.VerifyClosedIn) (workflows.VerifyClosedOut, error) {
	s.asked = in
	return workflows.VerifyClosedOut{SinceMs: in.SinceMs, UntilMs: in.UntilMs, Secrets: 3, Workflows: 2, Findings: s.findings}, s.err
}

func TestVerifyHistory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name     string
		last     *workflows.VerifyClosedOut
		findings int
		err      error
		since    time.Duration // before now
		fault    string
	}{
		{"the first", nil, 0, nil, 24 * time.Hour, ""},
		{"the next", &workflows.VerifyClosedOut{UntilMs: now.Add(-time.Hour).UnixMilli()}, 0, nil, time.Hour + 2*time.Minute, ""},
		{"after a long while", &workflows.VerifyClosedOut{UntilMs: now.Add(-30 * 24 * time.Hour).UnixMilli()}, 0, nil, 7 * 24 * time.Hour, ""},
		{"after one that said nothing", &workflows.VerifyClosedOut{}, 0, nil, 24 * time.Hour, ""},
		{"found", nil, 2, nil, 24 * time.Hour, "secrets stand in 2 places"},
		{"broken", nil, 0, errors.New("broken with words"), 24 * time.Hour, "a part of Pawl failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(slogDiscard{})
			env := suite.NewTestWorkflowEnvironment()
			patient(env, worker.Options{})
			env.SetStartTime(now)
			env.RegisterWorkflowWithOptions(workflows.VerifyHistory, workflow.RegisterOptions{Name: workflows.VerifyType})
			s := &searching{findings: tc.findings, err: tc.err}
			activities.NewVerifier(s, slog.New(slog.DiscardHandler)).Register(env)
			if tc.last != nil {
				env.SetLastCompletionResult(*tc.last)
			}
			env.ExecuteWorkflow(workflows.VerifyType)
			if got := now.Sub(time.UnixMilli(s.asked.SinceMs)); got != tc.since || !time.UnixMilli(s.asked.UntilMs).Equal(now) || s.asked.Namespace == "" {
				t.Errorf("it looks back %s, until %d in %q; want %s", got, s.asked.UntilMs, s.asked.Namespace, tc.since)
			}
			err := env.GetWorkflowError()
			var failed *temporal.ApplicationError
			switch {
			case tc.fault == "" && err != nil:
				t.Error(err)
			case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
				t.Errorf("it ends with %v, want %q", err, tc.fault)
			case tc.findings > 0 && (!errors.As(err, &failed) || failed.Type() != workflows.SecretsFound):
				t.Errorf("it ends with %v", err)
			}
			var out workflows.VerifyClosedOut
			if tc.fault == "" && (env.GetWorkflowResult(&out) != nil || out.UntilMs != now.UnixMilli() || out.Secrets != 3) {
				t.Errorf("it ends with %+v", out)
			}
		})
	}
}
