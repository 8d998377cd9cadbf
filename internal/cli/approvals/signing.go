package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// signer reads the signing key from the named file, or from DefaultKeyFile if named is empty. ok
// is false if the user names no file, PAWL_APPROVER_KEY is not set and the default file does not
// exist.
func signer(named string) (s proof.Signer, ok bool, err error) {
	file := cmp.Or(named, app.DefaultKeyFile())
	text, err := app.ReadKey(file, nil)
	if errors.Is(err, fs.ErrNotExist) && named == "" && os.Getenv(app.KeyFileEnv) == "" {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("the key to sign with: %w", err)
	}
	if s, err = proof.ParseSigner(text); err != nil {
		return s, false, fmt.Errorf("the key to sign with, in %s: %w", file, err)
	}
	return s, true, nil
}

// addressDecision finds the request that d decides on. It returns the id of the workflow to which the decision is
// sent, and d with the digests of the request and of its preview. It fails if seenDigest is not empty and the request
// has another digest.
func addressDecision(ctx context.Context, s *app.Session, tenantID, seenDigest string, d toolspec.Decision) (workflowID string, _ toolspec.Decision, err error) {
	record, err := findRequest(ctx, s, tenantID, d.ApprovalID)
	if err != nil {
		return "", d, err
	}
	if d.Digest = record.Digest; seenDigest != "" && seenDigest != d.Digest {
		return "", d, fmt.Errorf("the digest of the request is %s, not the digest of --digest: check the request with `pawl show %s`", d.Digest, d.ApprovalID)
	}
	d.PreviewDigest = record.PreviewDigest
	return record.WorkflowID, d, nil
}

// proveDecision does what addressDecision does, and adds a proof to the decision: the ID token of --id-token or,
// without this flag, a signature if there is a signing key. Without both, the decision has no proof.
func proveDecision(ctx context.Context, s *app.Session, tenantID string, p proving, d toolspec.Decision) (workflowID string, _ toolspec.Decision, err error) {
	workflowID, d, err = addressDecision(ctx, s, tenantID, p.seenDigest, d)
	switch {
	case err != nil:
		return "", d, err
	case p.tokenFile != "":
		d.Proof, err = p.token(d)
		return workflowID, d, err
	}
	key, ok, err := signer(p.keyFile)
	if err != nil || !ok {
		return workflowID, d, err
	}
	d, err = key.Sign(d, tenantID, time.Now(), app.SignedFor)
	return workflowID, d, err
}

// findRequest finds an approval request of the tenant. It does not find requests of other
// tenants.
func findRequest(ctx context.Context, s *app.Session, tenantID, approvalID string) (reads.Approval, error) {
	if _, _, ok := toolspec.SplitApprovalID(approvalID); !ok {
		return reads.Approval{}, app.Usage(errors.New("an approval id looks like <invocationId>.<n>; `pawl approvals` lists them"))
	}
	record, err := s.FindCall(ctx, tenantID, approvalID)
	if err != nil {
		return reads.Approval{}, err
	}
	i := slices.IndexFunc(record.Approvals, func(a reads.Approval) bool { return a.ApprovalID == approvalID })
	if i < 0 {
		return reads.Approval{}, fmt.Errorf("the call has no request %s; `pawl show %s` lists its requests", approvalID, approvalID)
	}
	return record.Approvals[i], nil
}
