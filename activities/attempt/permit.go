package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Keys signs with a key that only workers have, and verifies such signatures. An error that a
// retry can correct is marked errs.Transient.
type Keys interface {
	contract.Signer
	// Verify reports whether a worker has signed the text.
	Verify(ctx context.Context, text []byte, signature string) (bool, error)
}

// permit says that the gate has allowed the execution of a call. Everybody with access to the namespace can
// read it in the history. It is not valid for any other call, Temporal run, tool, argument or approval.
type permit struct {
	// PolicyDigest is the policy version by which the gate decided.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// MaxRuntimeMs and MaxResultBytes are the highest budgets that an attempt may have. Hooks
	// after the gate can only lower the budgets.
	MaxRuntimeMs   int64  `json:"maxRuntimeMs"`
	MaxResultBytes int    `json:"maxResultBytes"`
	Signature      string `json:"signature"`
}

// permitted is the content that a permit signs: all facts by which the gate decided, and all facts on which
// execute relies. It has neither the epoch nor the numbers of the attempt and the dispatch, because they change
// without a decision of the gate. The claim checks these three.
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
	// Args is the SHA-256 of the arguments that the tool gets.
	Args     [sha256.Size]byte
	Approval *hook.GrantedApproval
	Terms    hook.Terms
	Policy   string
}

// text returns the text of the permit that a worker signs. It is the same on every worker, because
// it contains no map.
func (p permit) text(runID string, f hook.Facts, t hook.Terms) ([]byte, error) {
	t.MaxRuntimeMs, t.MaxResultBytes = p.MaxRuntimeMs, p.MaxResultBytes
	text, err := json.Marshal(permitted{
		Kind: "pawl permit", RunID: runID, InvocationID: f.InvocationID, ToolID: f.ToolID, ToolCallID: f.ToolCallID, ToolDigest: f.ToolDigest,
		Effect: f.Effect, Risk: f.Risk, Context: f.Context, Submitter: f.Submitter, Args: sha256.Sum256(f.Args), Approval: f.Approval,
		Terms: t, Policy: p.PolicyDigest,
	})
	return text, err
}

// subject returns the digest of everything that the permit of an execution allows.
func (p permit) subject(ctx context.Context, f hook.Facts, t hook.Terms) (string, error) {
	text, err := p.text(contract.Executing(ctx).RunID, f, t)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Permit is Pawl's step after the hooks of willCheckConsent. It adds a permit to the
// verdict if the attempts of the call need one.
func (a *Attempts) Permit(ctx context.Context, in hook.StageInput, v *hook.Verdict) error {
	if in.Terms == nil {
		return nil
	}
	p := permit{PolicyDigest: in.Facts.PolicyDigest, MaxRuntimeMs: in.Terms.MaxRuntimeMs, MaxResultBytes: in.Terms.MaxResultBytes}
	text, err := p.text(contract.Executing(ctx).RunID, in.Facts, *in.Terms)
	if err != nil {
		return err
	}
	if p.Signature, err = a.Keys.Sign(ctx, text); err != nil {
		return err
	}
	v.Permit, err = json.Marshal(p)
	return err
}

// verifyPermit returns the permit of an attempt or of a probe, from raw. ok is false if raw is not a permit for the call, its
// arguments and its terms. claims says whether the attempt makes a claim. A local activity without a claim needs
// no permit: its workflow runs in this worker and has passed the gate.
func (a *Attempts) verifyPermit(ctx context.Context, raw json.RawMessage, f hook.Facts, t hook.Terms, claims bool) (p permit, ok bool, err error) {
	e := contract.Executing(ctx)
	if e.Local && !claims {
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
	ok, err = a.Keys.Verify(ctx, text, p.Signature)
	return p, ok, err
}
