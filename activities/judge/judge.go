package judge

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// Source finds the tools of this worker. Activities get a tool from a Source only.
type Source interface {
	// Get returns the tool; the bool is false if this worker does not have it.
	Get(toolID string) (*catalog.Bound, bool)
	// Find returns the definition with which a call was admitted, if this worker has it. Otherwise, and for
	// an empty digest, it returns the tool as Get does.
	Find(toolID, digest string) (*catalog.Bound, bool)
}

// Policies returns policy versions by digest.
type Policies interface {
	// Policy returns the compiled version. An error marked errs.Transient means that the
	// store is not available. ErrPolicyUnreadable means that this worker cannot read the
	// version; another worker may be able to. The empty digest names the policy that
	// denies everything.
	Policy(ctx context.Context, digest string) (*policy.Policy, error)
}

// ErrPolicyUnreadable says that a stored policy version does not compile in this worker:
// a newer release wrote it and used features that this release does not know.
var ErrPolicyUnreadable = errors.New("this worker cannot read the policy version")

// MarkUnreadable marks an error that is ErrPolicyUnreadable as transient, so that Temporal gives the activity to
// another worker. It returns any other error as it is.
func MarkUnreadable(err error) error {
	if errors.Is(err, ErrPolicyUnreadable) {
		return errs.Transient(err)
	}
	return err
}

// KillFailure returns the failure of a call that a kill switch stops. reason is shown to
// the caller; it may be empty.
func KillFailure(reason string) *hook.Failure {
	message := "a kill switch stops this call"
	if reason != "" {
		message += ": " + reason
	}
	return &hook.Failure{Code: toolspec.CodePolicyDenied, SafeMessage: message, Details: &toolspec.Details{Rule: "kill switch"}}
}

// PolicyFacts returns the facts of a call that policy may use. It leaves out a subject
// that no submitter has proved, and leaves out the arguments unless withArgs is set. The
// tags of the tool stay unknown, because they are not in the facts: see AtWorker.
func PolicyFacts(f hook.Facts, withArgs bool) policy.Facts {
	facts := policy.Facts{
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, RunID: f.Context.RunID, ConnectionID: f.Context.ConnectionID,
		ToolID: f.ToolID, Effect: f.Effect, Risk: f.Risk, ToolIDs: f.Context.ToolIDs,
	}
	// KeyID is empty if no proof of the submitter counts.
	if f.Submitter != nil && f.Submitter.KeyID != "" {
		facts.SubjectID = f.Context.SubjectID
	}
	facts.TagsUnknown = true
	facts.Repaired, facts.NoSchema, facts.ScriptArg, facts.Discovered = f.Repaired, f.NoSchema, f.ScriptArg, f.Discovered
	if withArgs {
		facts.Args, facts.HasArgs = f.Args, true
	}
	return facts
}

// AtWorker adds to the facts the tags of the tool, and Discovered, from the definition in this worker, if the
// worker has the tool. digest names the definition with which the call was admitted. If the worker does not have
// that definition any more, AtWorker takes its current definition.
func AtWorker(facts policy.Facts, digest string, tools Source) policy.Facts {
	if bound, here := tools.Find(facts.ToolID, digest); here {
		facts.Tags, facts.TagsUnknown = bound.Tags(), false
		facts.Discovered = bound.Discovered()
	}
	return facts
}

// Approved returns the content whose digest binds an approval to one call: its id, tool, arguments, tenant, actor, subject
// and connection.
func Approved(f hook.Facts) hydrate.Approved {
	return hydrate.Approved{
		InvocationID: f.InvocationID, ToolID: f.ToolID, ToolDigest: f.ToolDigest, Args: f.Args,
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, SubjectID: f.Context.SubjectID, ConnectionID: f.Context.ConnectionID,
	}
}
