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
	// first and second are Temporal runs of the call's workflow in namespace.
	first, second = "temporal-run-1", "temporal-run-2"
	namespace     = "tools"
	digest        = "digest-1"
)

// Sweeper is the part of upkeep.Store that settles calls whose workflow has ended.
type Sweeper interface {
	Sweep(ctx context.Context, in upkeep.SweepRow) (toolspec.Code, error)
}

var errNoSweeper = errors.New("the store sweeps no calls")

// Run runs the steps of each case of the table for two calls in turn, so that a
// statement about one call that changes the other fails the test. Each call is in a
// store that open returns; open may return the same store each time. Run skips the
// cases with sweeps if the store is not a Sweeper.
func Run(t *testing.T, open func(t *testing.T) activities.Records) {
	t.Helper()
	for n, tc := range table {
		t.Run(tc.name, func(t *testing.T) {
			var calls []call
			for _, twin := range []string{"a", "b"} {
				calls = append(calls, call{open(t), toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: fmt.Sprint("call_", n, twin)}})
			}
			for i, s := range tc.steps {
				for _, c := range calls {
					if err := s.do(t.Context(), c); errors.Is(err, errNoSweeper) {
						t.Skip(err)
					} else if err != nil {
						t.Fatalf("step %d, %+v: %v", i+1, s, err)
					}
				}
			}
		})
	}
}

// testCase is a list of statements about one call.
type testCase struct {
	name  string
	steps []step
}

// call is the call of a case, with the store that records it.
type call struct {
	store activities.Records
	id    toolspec.Identity
}

// step is a statement about a call, with its expected answer.
type step interface {
	do(ctx context.Context, c call) error
}

// executing returns a context that names a run of the call's workflow as the
// run that executes. The default is the first run; "none" names no run.
func (c call) executing(ctx context.Context, run string) context.Context {
	if run == "none" {
		return ctx
	}
	return contract.WithExecution(ctx, contract.Execution{RunID: cmp.Or(run, first), WorkflowID: c.id.WorkflowID(), Local: true})
}

// claimID returns the default id of the claim of a dispatch.
func claimID(dispatch int) string { return fmt.Sprintf("claim-%d", dispatch) }

// claims returns the claims of the dispatches, with their default ids.
func claims(dispatches ...int) []contract.Claim {
	var claims []contract.Claim
	for _, d := range dispatches {
		claims = append(claims, contract.Claim{Dispatch: d, ID: claimID(d)})
	}
	return claims
}

// admit admits the call. The default is the first run with the input of the call.
type admit struct {
	run, input, namespace string
	// epoch is the expected epoch; 0 expects any.
	epoch int
	// code is the code of the expected result, or ok; it is empty if the call is not settled.
	code toolspec.Code
	// found is the expected digest of the recorded input. Empty expects digest.
	found string
	// rounds are the expected rounds of the record. The zero value expects any.
	rounds contract.Rounds
	// elsewhere expects that the open call belongs to another namespace.
	elsewhere bool
}

// ok is the code of a successful result in these tests.
const ok toolspec.Code = "ok"

func (s admit) do(ctx context.Context, c call) error {
	row := admission.Row{
		InvocationID: c.id.InvocationID(), InputDigest: cmp.Or(s.input, digest), WorkflowID: c.id.WorkflowID(), RunID: cmp.Or(s.run, first),
		Namespace: cmp.Or(s.namespace, namespace),
		Invocation: toolspec.Invocation{
			ToolID: tool, ToolCallID: c.id.ToolCallID, Args: []byte(`{}`),
			Context: toolspec.Context{TenantID: tenant, RunID: c.id.RunID, ActorID: "user:ann"},
		},
		Plan:      hook.Plan{V: 1, ToolID: tool, Lane: hook.RegularLane, MaxAttempts: 1, Pre: []hook.Step{}},
		StartedAt: time.UnixMilli(1_700_000_000_123),
	}
	got, err := c.store.Admit(c.executing(ctx, s.run), row)
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

// owned checks whether a run owns the call in an epoch. change, if not nil, changes
// the row of the admitted call.
type owned struct {
	run    string
	epoch  int
	change func(*stage.OwnedRow)
	want   bool
}

func (s owned) do(ctx context.Context, c call) error {
	row := stage.OwnedRow{
		InvocationID: c.id.InvocationID(), Epoch: s.epoch, ToolID: tool, ToolCallID: c.id.ToolCallID,
		Context: toolspec.Context{TenantID: tenant, RunID: c.id.RunID, ActorID: "user:ann"},
	}
	if s.change != nil {
		s.change(&row)
	}
	plan, got, err := c.store.Owned(c.executing(ctx, s.run), row)
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
	// subject is the subject of an attempt in the claimed lane.
	subject string
	// ended claims a dispatch whose time is over already, so that its tool cannot run any more. Otherwise the tool may
	// run for a minute.
	ended bool
	want  contract.Outcome
}

func (s claim) do(ctx context.Context, c call) error {
	runtime := time.Minute
	if s.ended {
		runtime = -time.Minute
	}
	got, err := c.store.Claim(c.executing(ctx, s.run), attempt.ClaimRow{
		InvocationID: c.id.InvocationID(), TenantID: cmp.Or(s.tenant, tenant), ToolID: cmp.Or(s.tool, tool), Epoch: s.epoch, Dispatch: s.dispatch,
		ClaimID: cmp.Or(s.id, claimID(s.dispatch)), Repeatable: s.repeatable, Answered: s.answered, Runtime: runtime, Subject: s.subject,
	})
	if err == nil && got != s.want {
		err = fmt.Errorf("got %s", got)
	}
	return err
}

// keep keeps the answer of a claim: a JSON object with the field dispatch.
type keep struct {
	dispatch    int
	id, subject string
}

func (s keep) do(ctx context.Context, c call) error {
	return c.store.Keep(ctx, attempt.KeepRow{
		InvocationID: c.id.InvocationID(), Claim: contract.Claim{Dispatch: s.dispatch, ID: cmp.Or(s.id, claimID(s.dispatch))}, Subject: s.subject,
		Answer: fmt.Appendf(nil, `{"dispatch": %d}`, s.dispatch),
	})
}

// earlier looks for a claim that is not answered.
type earlier struct {
	run, tenant string
	epoch       int
	answered    []contract.Claim
	// of is the subject of the attempt that asks. The default is "s".
	of string
	// dispatch is the dispatch of the expected claim; 0 expects no claim.
	dispatch int
	// subject is the subject of the kept answer of the expected claim, or empty if the claim has no answer.
	subject string
	// runs expects that the tool of the claim may still run.
	runs bool
}

func (s earlier) do(ctx context.Context, c call) error {
	got, found, err := c.store.Earlier(c.executing(ctx, s.run), attempt.EarlierRow{
		InvocationID: c.id.InvocationID(), TenantID: cmp.Or(s.tenant, tenant), Epoch: s.epoch, Answered: s.answered, Subject: cmp.Or(s.of, "s"),
	})
	if err != nil {
		return err
	}
	answer := ""
	if s.subject != "" {
		answer = fmt.Sprintf(`{"dispatch": %d}`, s.dispatch)
	}
	if found != (s.dispatch > 0) || got.Dispatch != s.dispatch || found && got.ID != claimID(s.dispatch) || got.Subject != s.subject ||
		string(got.Answer) != answer || (got.Runs > 0) != s.runs || got.Runs > time.Minute+10*time.Second {
		return fmt.Errorf("got %+v with the answer %q, %t", got, got.Answer, found)
	}
	return nil
}

// check checks a dispatch: it was claimed, or gets a tombstone.
type check struct {
	run             string
	epoch, dispatch int
	want            contract.Outcome
	// raised is the expected epoch of the call afterwards. It is ignored if want is contract.Superseded.
	raised int
	// claims are the expected claims of the call. They are ignored if want is contract.Superseded.
	claims []contract.Claim
}

func (s check) do(ctx context.Context, c call) error {
	got, err := c.store.Check(c.executing(ctx, s.run), contract.CheckIn{InvocationID: c.id.InvocationID(), Epoch: s.epoch, Dispatch: s.dispatch})
	if err != nil {
		return err
	}
	if got.Outcome != s.want || s.want != contract.Superseded && (got.Epoch != s.raised || !slices.Equal(got.Claims, s.claims)) {
		return fmt.Errorf("got %+v", got)
	}
	return nil
}

// settle settles the call with a code. The default is ok.
type settle struct {
	run, tenant string
	epoch       int
	code        toolspec.Code
	claims      []contract.Claim
	want        contract.Outcome
	unaccounted []contract.Claim
	// found is the expected code of the result that settled the call before.
	found toolspec.Code
}

func (s settle) do(ctx context.Context, c call) error {
	result := toolspec.Result{ToolCallID: c.id.ToolCallID, InvocationID: c.id.InvocationID(), InputDigest: digest, OK: true, Value: []byte(`{}`), Source: toolspec.SourceExecuted}
	if s.code != "" {
		result = toolspec.Failure(s.code, "", nil)
	}
	got, err := c.store.Settle(c.executing(ctx, s.run), contract.SettleIn{
		InvocationID: c.id.InvocationID(), TenantID: cmp.Or(s.tenant, tenant), Epoch: s.epoch, Result: result, Claims: s.claims,
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

func (s sweep) do(ctx context.Context, c call) error {
	store, sweeps := c.store.(Sweeper)
	if !sweeps {
		return errNoSweeper
	}
	got, err := store.Sweep(ctx, upkeep.SweepRow{
		InvocationID: c.id.InvocationID(), Namespace: cmp.Or(s.namespace, namespace), RunID: cmp.Or(s.run, first), Epoch: s.epoch,
		Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
	})
	if err == nil && got != s.want {
		err = fmt.Errorf("got %q", got)
	}
	return err
}
