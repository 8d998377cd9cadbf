package admit

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Submitters verify that a trusted submitter vouches for the subject of a call.
type Submitters interface {
	// Vouched verifies the proof of a call that has a record. keyID names the key that signed it.
	// If the proof is not valid, keyID is empty and fault says why, in words that are safe to
	// show. An error that a retry can correct is marked errs.Transient.
	Vouched(ctx context.Context, in VouchRow) (keyID, fault string, err error)
}

// VouchRow is a proof and the claims that it must prove.
type VouchRow struct {
	InvocationID string
	Proof        string
	Claims       toolspec.SubmitterClaims
}

// verifySubmitter verifies that a submitter vouches for the subject of a call. A call without a
// subject needs no submitter, and verifySubmitter ignores its proof.
func (a *Admitter) verifySubmitter(ctx context.Context, inv toolspec.Invocation, digest string) (*hook.Submitter, error) {
	c := inv.Context
	switch {
	case c.SubjectID == "":
		return nil, nil //nolint:nilnil // a call without a subject needs no submitter
	case inv.SubmitterProof == "":
		return &hook.Submitter{Fault: "context.subjectId counts only with a submitterProof"}, nil
	case a.Submitters == nil:
		return &hook.Submitter{Fault: "this worker verifies no submitterProof"}, nil
	}
	keyID, fault, err := a.Submitters.Vouched(ctx, VouchRow{
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
