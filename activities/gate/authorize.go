package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// askTime bounds one question to the authorization engine. It is shorter than contract.StepTimeout, the time of
// one try of the stage, so that the stage ends in time and the log names the slow engine.
const askTime = 1500 * time.Millisecond

// ruleAuthz is the rule in the record of a call that the authorization engine denied. denyUnauthorized adds what
// the call lacks, as in "authorization: delegation".
const ruleAuthz = "authorization"

// askPermission asks the engine whether the actor may run the tool, on behalf of the subject if there is one.
// If the engine gives no answer, askPermission returns an error, so the stage runs again.
func (g *gate) askPermission(ctx context.Context, f hook.Facts, basis authz.Basis, v *hook.Verdict) (*hook.Failure, error) {
	c := f.Context
	var submitter, fault string
	if s := f.Submitter; s != nil {
		submitter, fault = s.KeyID, s.Fault
	}
	if c.SubjectID != "" && submitter == "" {
		// A caller can name any subject. The subject counts only if a trusted
		// submitter vouches for it.
		if fault == "" {
			fault = lackMessage(authz.Trust)
		}
		return g.denyUnauthorized(ctx, f, authz.Trust, fault, v), nil
	}
	answer, err := g.ask(ctx, authz.Request{
		TenantID: c.TenantID, ActorID: c.ActorID, SubjectID: c.SubjectID, Submitter: submitter, Permission: authz.Execute, ToolID: f.ToolID,
		ConnectionID: c.ConnectionID, GraphID: c.GraphID, SessionID: c.SessionID, RunID: c.RunID, Basis: basis,
	})
	if err != nil || answer.Allowed {
		return nil, err
	}
	return g.denyUnauthorized(ctx, f, answer.Lacks, lackMessage(answer.Lacks), v), nil
}

func (g *gate) denyUnauthorized(ctx context.Context, f hook.Facts, lacks authz.Lack, message string, v *hook.Verdict) *hook.Failure {
	rule := ruleAuthz
	if lacks == authz.Permission || lacks == authz.Delegation || lacks == authz.Trust {
		rule += ": " + string(lacks)
	}
	v.Delta.Rule = rule
	g.Log.WarnContext(ctx, "authorization denied a call", append(ids(f), "rule", rule)...)
	return &hook.Failure{Code: toolspec.CodeAuthzDenied, SafeMessage: message, Details: &toolspec.Details{Rule: rule}}
}

func lackMessage(lacks authz.Lack) string {
	switch lacks {
	case authz.Permission:
		return "the actor may not run this tool"
	case authz.Delegation:
		return "the subject has not delegated this to the actor"
	case authz.Trust:
		return "nobody who is trusted vouches for the subject"
	}
	return "" // the result has the message of the code instead
}

// ask asks the engine. The engine may be code of a user, so ask bounds its time and recovers its
// panic. It ignores an answer that comes too late.
func (g *gate) ask(ctx context.Context, r authz.Request) (authz.Decision, error) {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	type reply struct {
		decision authz.Decision
		err      error
	}
	replied := make(chan reply, 1)
	go func() {
		var out reply
		defer func() {
			if recovered := recover(); recovered != nil {
				out = reply{err: fmt.Errorf("panic of type %T", recovered)}
			}
			replied <- out
		}()
		out.decision, out.err = g.Engine.Check(asking, r)
	}()
	var out reply
	select {
	case out = <-replied:
	case <-asking.Done():
		out.err = asking.Err()
	}
	switch {
	case out.err == nil:
		return out.decision, nil
	case ctx.Err() != nil:
		return authz.Decision{}, errs.Transient(ctx.Err())
	}
	return authz.Decision{}, errs.Transient(&unanswered{cause: out.err})
}

// unanswered is the error of an engine that gave no answer. The call waits, whatever the cause is,
// because Pawl must not run a tool without an authorization.
type unanswered struct{ cause error }

// Error includes the text of the cause, which must not leave this process.
func (u *unanswered) Error() string {
	return "the authorization engine gave no answer: " + u.cause.Error()
}

// Unwrap returns the cause.
func (u *unanswered) Unwrap() error { return u.cause }

// LogReason returns the part of the error that may be logged.
func (u *unanswered) LogReason() string {
	if errors.Is(u.cause, context.DeadlineExceeded) {
		return "the authorization engine gave no answer in time"
	}
	return "the authorization engine gave no answer: " + errs.Reason(u.cause)
}
