package admit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Admitter admits calls.
type Admitter struct {
	Records Records
	Hooks   *hook.Registry
	// Own has all of Pawl's own steps of this worker.
	Own   stage.Table
	Tools judge.Source
	// Workers knows which tools other workers have. nil means that there are no other workers.
	Workers Workers
	// IsOff reports whether the operator turned a tool of this worker off. nil means that no tool is off.
	IsOff func(toolID string) bool
	// Submitters verifies the proof with which a submitter vouches for the subject of a call. If it is nil, no
	// proof is valid.
	Submitters Submitters
	// ConnectionKey is the key of an HMAC. Search attributes have the HMAC of the id of a connection in place of
	// the id. If the key is empty, search attributes name no connection.
	ConnectionKey []byte
	// SearchAttributes says whether the workflows of new calls upsert search attributes.
	SearchAttributes bool
	Log              *slog.Logger
}

// Admit decodes the input of the workflow strictly, and finds or makes the record of the call. The outcome is
// Refused for an input that has a fault or that conflicts with the record, AlreadySettled for a call that has a
// result, and NotHere if another worker must run the call. Done with a Failure means that the tool of the call
// does not exist or is turned off.
func (a *Admitter) Admit(ctx context.Context, in contract.AdmitIn) (contract.AdmitOut, error) {
	started := time.Now()
	inv, fault := decode(in)
	if fault != nil {
		return a.refuse(ctx, in, inv, fault)
	}
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return contract.AdmitOut{}, err
	}
	identity := inv.Identity()
	record, err := a.Records.Admit(ctx, Row{
		InvocationID: identity.InvocationID(), InputDigest: digest,
		WorkflowID: in.WorkflowID, RunID: in.RunID, Namespace: in.Namespace, Invocation: inv,
		Plan: a.plan(inv.Context.TenantID, inv.ToolID), StartedAt: time.UnixMilli(in.NowMs).UTC(),
	})
	if err != nil {
		return contract.AdmitOut{}, err
	}
	out := contract.AdmitOut{
		Outcome: contract.Done, Recorded: true,
		InvocationID: identity.InvocationID(), InputDigest: digest,
		ToolID: inv.ToolID, ToolCallID: inv.ToolCallID, Context: inv.Context,
		Epoch: record.Epoch, Rounds: record.Rounds, Plan: &record.Plan, Watched: record.Watched, PolicyDigest: record.PolicyDigest, Kills: record.Kills,
		ConnectionHash: a.connectionHash(inv.Context), Connection: connectionState(inv, record.Connection),
	}
	switch {
	case record.Digest != digest || record.Elsewhere:
		out.Outcome, out.Recorded = contract.Refused, false
		out.Failure = &hook.Failure{Code: toolspec.CodeConflict}
	case record.Result != nil:
		out.Outcome, out.Result = contract.AlreadySettled, record.Result
	case judge.IsNewerPlan(record.Plan.V):
		out.Outcome, out.By = contract.NotHere, judge.PlanName(record.Plan.V)
	case record.Plan.ToolDigest == "":
		if err := a.answerMissingTool(ctx, in.Namespace, &out); err != nil {
			return contract.AdmitOut{}, err
		}
		if out.Failure != nil {
			out.Provenance = judge.Unhydrated(inv, hydrate.KindUnknownTool, "")
		}
	}
	if out.Outcome == contract.Done && out.Failure == nil {
		if out.Submitter, err = a.verifySubmitter(ctx, inv, digest); err != nil {
			return contract.AdmitOut{}, err
		}
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

// answerMissingTool answers a call whose tool this worker does not have. If a worker that runs now has the
// tool, the call waits for such a worker.
func (a *Admitter) answerMissingTool(ctx context.Context, namespace string, out *contract.AdmitOut) error {
	// A caller must not learn which tools another tenant has.
	if a.Workers != nil && !toolspec.ForeignTool(out.Context.TenantID, out.ToolID) {
		live, err := a.Workers.IsLive(ctx, namespace, out.ToolID)
		if err != nil {
			return err
		}
		if live {
			out.Outcome, out.By = contract.NotHere, "tool "+out.ToolID
			return nil
		}
	}
	out.Failure = &hook.Failure{Code: toolspec.CodeUnavailable}
	if a.IsOff != nil && a.IsOff(out.ToolID) {
		out.Failure = &hook.Failure{Code: toolspec.CodePolicyDenied, SafeMessage: "The tool is turned off"}
	}
	return nil
}

// decode reads the payload and checks that the call belongs to this workflow id.
func decode(in contract.AdmitIn) (toolspec.Invocation, *hydrate.Fault) {
	if len(in.Input) > 0 && in.Encoding != converter.MetadataEncodingJSON {
		return toolspec.Invocation{}, &hydrate.Fault{Code: toolspec.CodeValidation, Problem: toolspec.Problem{
			Kind: hydrate.KindUndecodable, Message: "the workflow input must be JSON (encoding json/plain)",
		}}
	}
	inv, fault := hydrate.Decode(in.Input)
	if fault != nil {
		return inv, fault
	}
	if want := inv.Identity().WorkflowID(); want != in.WorkflowID {
		return inv, &hydrate.Fault{Code: toolspec.CodeValidation, Problem: toolspec.Problem{
			Kind:    hydrate.KindForeignID,
			Message: fmt.Sprintf("the workflow id of this call is %s; start it under that id", want),
		}}
	}
	return inv, nil
}

// refuse notes an input that gets no record, and keeps nothing of the input. The identity in the input was not
// checked: a record under it would let a caller settle the call of another caller.
func (a *Admitter) refuse(ctx context.Context, in contract.AdmitIn, inv toolspec.Invocation, fault *hydrate.Fault) (contract.AdmitOut, error) {
	err := a.Records.Refuse(ctx, Refused{
		WorkflowID: in.WorkflowID, RunID: in.RunID, Code: fault.Code, Reason: fault.Problem.Kind, Bytes: len(in.Input),
	})
	if err != nil {
		return contract.AdmitOut{}, err
	}
	a.Log.WarnContext(ctx, "input refused", "workflowId", in.WorkflowID, "kind", fault.Problem.Kind)
	return contract.AdmitOut{Outcome: contract.Refused, Failure: judge.FaultFailure(fault), ToolCallID: inv.ToolCallID}, nil
}

// connectionState returns the state of the connection, and whether the call's own list of connections names it.
// If the connection does not exist, stored is nil, and the result says only whether the list names it.
func connectionState(inv toolspec.Invocation, stored *hook.Connection) *hook.Connection {
	id := inv.Context.ConnectionID
	if id == "" {
		return nil
	}
	var state hook.Connection
	if stored != nil {
		state = *stored
	}
	state.Requested = len(broker.Effective([]string{id}, inv.AllowedConnectionIDs)) > 0
	return &state
}

func (a *Admitter) connectionHash(c toolspec.Context) string {
	if c.ConnectionID == "" || len(a.ConnectionKey) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, a.ConnectionKey)
	mac.Write([]byte(c.TenantID + "\x00" + c.ConnectionID))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
