package recordtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	admission "github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	tenant = "acme"
	tool   = "core__write_file"
	// first and second are runs of the call's workflow in namespace.
	first, second = "temporal-run-1", "temporal-run-2"
	namespace     = "tools"
	digest        = "digest-1"
)

// Sweeper settles calls whose workflow is over: a part of upkeep.Store.
type Sweeper interface {
	Sweep(ctx context.Context, in upkeep.SweepRow) (toolspec.Code, error)
}

var errNoSweeper = errors.New("the store sweeps no calls")

// Run takes the steps of each case of the table for two calls in turn, so that a
// statement about one of them that touches the other is noticed. Each call is in
// the store that open returns; all of them may be in one. Cases that sweep are left
// out where the store is no Sweeper.
func Run(t *testing.T, open func(t *testing.T) activities.Records) {
	t.Helper()
	for n, c := range table {
		t.Run(c.name, func(t *testing.T) {
			var calls []call
			for _, twin := range []string{"a", "b"} {
				calls = append(calls, call{open(t), toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: fmt.Sprint("call_", n, twin)}})
			}
			for i, s := range c.steps {
				for _, of := range calls {
					if err := s.take(t.Context(), of); errors.Is(err, errNoSweeper) {
						t.Skip(err)
					} else if err != nil {
						t.Fatalf("step %d, %+v: %v", i+1, s, err)
					}
				}
			}
		})
	}
}

// testCase is a story of one call.
type testCase struct {
	name  string
	steps []step
}

// call is what the steps of a case are about.
type call struct {
	store activities.Records
	id    toolspec.Identity
}

// step is a statement about a call, with what it is to answer.
type step interface {
	take(ctx context.Context, of call) error
}

// executing returns a context in which a run of the call's workflow acts; the
// first one by default, and nobody for "none".
func (of call) executing(ctx context.Context, run string) context.Context {
	if run == "none" {
		return ctx
	}
	return contract.WithExecution(ctx, contract.Execution{RunID: cmp.Or(run, first), WorkflowID: of.id.WorkflowID(), Local: true})
}

// claimID is the id of a claim of a dispatch, where a step gives no other.
func claimID(dispatch int) string { return fmt.Sprintf("claim-%d", dispatch) }

// claims are those of dispatches.
func claims(dispatches ...int) (found []contract.Claim) {
	for _, d := range dispatches {
		found = append(found, contract.Claim{Dispatch: d, ID: claimID(d)})
	}
	return found
}

// admit admits the call: as the first run with its own input, where a step says
// nothing else.
type admit struct {
	run, input, namespace string
	// epoch is the one that it is to get, and code that of the result that it is to
	// find: ok, or a code.
	epoch int
	code  toolspec.Code
	// found is the digest of the input that the record is of, and rounds are those
	// of the record.
	found     string
	rounds    contract.Rounds
	elsewhere bool
}

// ok is the code of a result that is no failure.
const ok toolspec.Code = "ok"

func (s admit) take(ctx context.Context, of call) error {
	row := admission.Row{
		InvocationID: of.id.InvocationID(), InputDigest: cmp.Or(s.input, digest), WorkflowID: of.id.WorkflowID(), RunID: cmp.Or(s.run, first),
		Namespace: cmp.Or(s.namespace, namespace),
		Invocation: toolspec.Invocation{
			ToolID: tool, ToolCallID: of.id.ToolCallID, Args: []byte(`{}`),
			Context: toolspec.Context{TenantID: tenant, RunID: of.id.RunID, ActorID: "user:ann"},
		},
		Plan:      hook.Plan{V: 1, ToolID: tool, Lane: hook.RegularLane, MaxAttempts: 1, Pre: []hook.Step{}},
		StartedAt: time.UnixMilli(1_700_000_000_123),
	}
	got, err := of.store.Admit(of.executing(ctx, s.run), row)
	if err != nil {
		return err
	}
	var code toolspec.Code
	if got.Result != nil {
		code = codeOf(*got.Result)
	}
	if got.Digest != cmp.Or(s.found, digest) || got.Elsewhere != s.elsewhere || code != s.code || s.epoch != 0 && got.Epoch != s.epoch ||
		s.rounds != (contract.Rounds{}) && got.Rounds != s.rounds {
		return fmt.Errorf("got %+v, with the result %q", got, code)
	}
	return nil
}

func codeOf(r toolspec.Result) toolspec.Code {
	if r.OK {
		return ok
	}
	return r.ErrorCode
}

// owned asks whether the call is the run's, in an epoch, as it was admitted but
// for what change makes of it.
type owned struct {
	run    string
	epoch  int
	change func(*stage.OwnedRow)
	want   bool
}

func (s owned) take(ctx context.Context, of call) error {
	row := stage.OwnedRow{
		InvocationID: of.id.InvocationID(), Epoch: s.epoch, ToolID: tool, ToolCallID: of.id.ToolCallID,
		Context: toolspec.Context{TenantID: tenant, RunID: of.id.RunID, ActorID: "user:ann"},
	}
	if s.change != nil {
		s.change(&row)
	}
	plan, got, err := of.store.Owned(of.executing(ctx, s.run), row)
	if err == nil && (got != s.want || got && plan.Lane != hook.RegularLane) {
		err = fmt.Errorf("got %v, %+v", got, plan)
	}
	return err
}

// claim claims a dispatch of the call.
type claim struct {
	run             string
	epoch, dispatch int
	id              string
	tenant, tool    string
	repeatable      bool
	answered        []contract.Claim
	want            contract.Outcome
}

func (s claim) take(ctx context.Context, of call) error {
	got, err := of.store.Claim(of.executing(ctx, s.run), attempt.ClaimRow{
		InvocationID: of.id.InvocationID(), TenantID: cmp.Or(s.tenant, tenant), ToolID: cmp.Or(s.tool, tool), Epoch: s.epoch, Dispatch: s.dispatch,
		ClaimID: cmp.Or(s.id, claimID(s.dispatch)), Repeatable: s.repeatable, Answered: s.answered, Runtime: time.Minute,
	})
	if err == nil && got != s.want {
		err = fmt.Errorf("got %s", got)
	}
	return err
}

// check asks what became of a dispatch.
type check struct {
	run             string
	epoch, dispatch int
	want            contract.Outcome
	// raised is the epoch of the call afterwards, and claims are those that there
	// are; both are not looked at where the call was superseded.
	raised int
	claims []contract.Claim
}

func (s check) take(ctx context.Context, of call) error {
	got, err := of.store.Check(of.executing(ctx, s.run), contract.CheckIn{InvocationID: of.id.InvocationID(), Epoch: s.epoch, Dispatch: s.dispatch})
	if err != nil {
		return err
	}
	if got.Outcome != s.want || s.want != contract.Superseded && (got.Epoch != s.raised || !slices.Equal(got.Claims, s.claims)) {
		return fmt.Errorf("got %+v", got)
	}
	return nil
}

// settle settles the call, ok where a step gives no code.
type settle struct {
	run, tenant string
	epoch       int
	code        toolspec.Code
	claims      []contract.Claim
	want        contract.Outcome
	unaccounted []contract.Claim
	// found is the code of the result that settled the call before.
	found toolspec.Code
}

func (s settle) take(ctx context.Context, of call) error {
	result := toolspec.Result{ToolCallID: of.id.ToolCallID, InvocationID: of.id.InvocationID(), InputDigest: digest, OK: true, Value: []byte(`{}`), Source: toolspec.SourceExecuted}
	if s.code != "" {
		result = toolspec.Failure(s.code, "", nil)
	}
	got, err := of.store.Settle(of.executing(ctx, s.run), contract.SettleIn{
		InvocationID: of.id.InvocationID(), TenantID: cmp.Or(s.tenant, tenant), Epoch: s.epoch, Result: result, Claims: s.claims,
	})
	if err != nil {
		return err
	}
	var found toolspec.Code
	if got.Result != nil {
		found = codeOf(*got.Result)
	}
	if got.Outcome != s.want || found != s.found || !slices.Equal(got.Unaccounted, s.unaccounted) {
		return fmt.Errorf("got %+v, with the result %q", got, found)
	}
	return nil
}

// sweep settles the call as one whose workflow was terminated.
type sweep struct {
	run, namespace string
	epoch          int
	want           toolspec.Code
}

func (s sweep) take(ctx context.Context, of call) error {
	store, sweeps := of.store.(Sweeper)
	if !sweeps {
		return errNoSweeper
	}
	got, err := store.Sweep(ctx, upkeep.SweepRow{
		InvocationID: of.id.InvocationID(), Namespace: cmp.Or(s.namespace, namespace), RunID: cmp.Or(s.run, first), Epoch: s.epoch,
		Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
	})
	if err == nil && got != s.want {
		err = fmt.Errorf("got %q", got)
	}
	return err
}
