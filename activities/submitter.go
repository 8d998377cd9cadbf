package activities

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Submitters verify that a trusted submitter vouches for the subject of a call.
type Submitters interface {
	// Vouched verifies the proof of a call that has a record. keyID names the key that
	// signed it; where the proof is not good, it is empty and fault says why, in words
	// that are safe to show. errs.Transient marks a store that is away.
	Vouched(ctx context.Context, in VouchRow) (keyID, fault string, err error)
}

// VouchRow is a proof with what it has to be a proof of.
type VouchRow struct {
	InvocationID string
	Proof        string
	Claims       toolspec.SubmitterClaims
}

// vouched verifies who vouches for the subject of a call. Without a subject there is
// nothing to vouch for, and a proof is not looked at.
func (a *Activities) vouched(ctx context.Context, inv toolspec.Invocation, digest string) (*hook.Submitter, error) {
	c := inv.Context
	switch {
	case c.SubjectID == "":
		return nil, nil //nolint:nilnil // nobody vouches, and nobody needs to
	case inv.SubmitterProof == "":
		return &hook.Submitter{Fault: "context.subjectId counts only with a submitterProof"}, nil
	case a.config.Submitters == nil:
		return &hook.Submitter{Fault: "this worker verifies no submitterProof"}, nil
	}
	keyID, fault, err := a.config.Submitters.Vouched(ctx, VouchRow{
		InvocationID: inv.Identity().InvocationID(), Proof: inv.SubmitterProof,
		Claims: toolspec.SubmitterClaims{
			TenantID: c.TenantID, RunID: c.RunID, ActorID: c.ActorID, SubjectID: c.SubjectID, ToolCallID: inv.ToolCallID, InputDigest: digest,
		},
	})
	if err != nil {
		return nil, err
	}
	if keyID == "" {
		return &hook.Submitter{Fault: "the submitterProof does not count: " + fault}, nil
	}
	return &hook.Submitter{KeyID: keyID}, nil
}
