package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Keys sign with keys that only workers have, and check such signatures. An error
// that passes by itself is marked errs.Transient.
type Keys interface {
	contract.Signer
	// Verify reports whether a worker has signed the text.
	Verify(ctx context.Context, text []byte, signature string) (bool, error)
}

// permit says that the gate has allowed a call to be executed. It goes through
// the history, where anybody in the namespace can read it, and is worth nothing
// for any other call, run, tool, argument or approval.
type permit struct {
	// PolicyDigest is the policy version that judged.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// MaxRuntimeMs and MaxResultBytes are the most that an attempt may have: hooks
	// behind the gate can only take away from them.
	MaxRuntimeMs   int64  `json:"maxRuntimeMs"`
	MaxResultBytes int    `json:"maxResultBytes"`
	Signature      string `json:"signature"`
}

// permitted is what a permit is over: all that was judged, and all that execute
// believes. The epoch, the attempt and the dispatch are not in it, for they change
// without a judgement: the claim guards those.
type permitted struct {
	Kind         string
	RunID        string
	InvocationID string
	ToolID       string
	ToolCallID   string
	ToolDigest   string
	Effect       toolspec.Effect
	Risk         toolspec.Risk
	Context      toolspec.Context
	Submitter    *hook.Submitter
	// Args is the SHA-256 of the arguments as they run.
	Args     [sha256.Size]byte
	Approval *hook.GrantedApproval
	Terms    hook.Terms
	Policy   string
}

// text is what is signed. Nothing in it is a map, so it is the same everywhere.
func (p permit) text(runID string, f hook.Facts, t hook.Terms) ([]byte, error) {
	t.MaxRuntimeMs, t.MaxResultBytes = p.MaxRuntimeMs, p.MaxResultBytes
	text, err := json.Marshal(permitted{
		Kind: "pawl permit", RunID: runID, InvocationID: f.InvocationID, ToolID: f.ToolID, ToolCallID: f.ToolCallID, ToolDigest: f.ToolDigest,
		Effect: f.Effect, Risk: f.Risk, Context: f.Context, Submitter: f.Submitter, Args: sha256.Sum256(f.Args), Approval: f.Approval,
		Terms: t, Policy: p.PolicyDigest,
	})
	return text, err
}

// permit is Pawl's step after the hooks of willCheckConsent. It adds a permit to the
// verdict if the attempts of the call need one.
func (a *Activities) permit(ctx context.Context, in hook.StageInput, v *hook.Verdict) error {
	if in.Terms == nil {
		return nil
	}
	p := permit{PolicyDigest: in.Facts.PolicyDigest, MaxRuntimeMs: in.Terms.MaxRuntimeMs, MaxResultBytes: in.Terms.MaxResultBytes}
	text, err := p.text(contract.Executing(ctx).RunID, in.Facts, *in.Terms)
	if err != nil {
		return err
	}
	if p.Signature, err = a.config.Keys.Sign(ctx, text); err != nil {
		return err
	}
	v.Permit, err = json.Marshal(p)
	return err
}

// permits returns the permit of an execution, or false where it has none for what
// it is to execute. An execution in the local lane needs none: the workflow code of
// this worker has just come from the gate.
func (a *Activities) permits(ctx context.Context, raw json.RawMessage, f hook.Facts, t hook.Terms) (p permit, ok bool, err error) {
	e := contract.Executing(ctx)
	if e.Local {
		return permit{PolicyDigest: f.PolicyDigest}, true, nil
	}
	readable := json.Unmarshal(raw, &p) == nil
	if !readable || t.MaxRuntimeMs > p.MaxRuntimeMs || t.MaxResultBytes > p.MaxResultBytes {
		return p, false, nil
	}
	text, err := p.text(e.RunID, f, t)
	if err != nil {
		return p, false, err
	}
	ok, err = a.config.Keys.Verify(ctx, text, p.Signature)
	return p, ok, err
}

// Accept checks the receipt of an answer. It notes a forged answer in the audit
// trail: somebody with access to the namespace has made it up, or copied it from
// elsewhere.
func (a *Activities) Accept(ctx context.Context, in contract.AcceptIn) (contract.AcceptOut, error) {
	genuine, err := a.config.Keys.Verify(ctx, in.Answer, in.Receipt)
	if err != nil || genuine {
		return contract.AcceptOut{Genuine: genuine}, err
	}
	a.log.ErrorContext(ctx, "an answer that no worker has given was refused: somebody completed the activity through the Temporal API",
		"activity", in.Activity, "invocationId", in.InvocationID, "tenantId", in.TenantID)
	return contract.AcceptOut{}, a.records.Forged(ctx, ForgedAnswer{
		InvocationID: in.InvocationID, TenantID: in.TenantID, Activity: in.Activity, Answer: hex.EncodeToString(in.Answer),
	})
}
