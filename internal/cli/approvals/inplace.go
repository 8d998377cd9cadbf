package approvals

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// Find returns an approval request of the tenant.
func Find(ctx context.Context, s *app.Session, tenantID, approvalID string) (reads.Approval, error) {
	return findRequest(ctx, s, tenantID, approvalID)
}

// Decide sends the decision of a person who has seen the request with this digest, as `pawl approve` does: signed with the key
// in keyFile, or with the default key if there is one. It fails if the request has another digest.
func Decide(ctx context.Context, s *app.Session, tenantID, keyFile, digest string, said toolspec.Decision) (toolspec.Answer, error) {
	return decide(ctx, s, tenantID, proving{keyFile: keyFile, seenDigest: digest}, said)
}

// Refusal returns an error that says why a decision did not count and what to do, or nil if it counted.
func Refusal(answer toolspec.Answer) error {
	switch {
	case answer.Again:
		return fmt.Errorf("not confirmed, and nothing is recorded: %s", answer.Reason)
	case answer.Counted:
		return nil
	}
	hint := ""
	if answer.Reason == toolspec.ReasonUnsigned {
		hint = ": sign it with --key FILE (create a key with `pawl keys new`, and let an operator register it with `pawl keys register`), or prove it with --id-token FILE"
	}
	return fmt.Errorf("the decision did not count: %s%s", answer.Reason, hint)
}

func onBehalfOf(r reads.Approval) string {
	if r.OnBehalfOf == "" {
		return ""
	}
	return " for " + app.QuoteName(r.OnBehalfOf)
}

// Print shows an approval request to a person who may decide on it.
func Print(a *app.App, r reads.Approval) {
	fmt.Fprintf(a.Out, "%s  %s\n  tool     %s (%s, %s risk), asked for by %s%s\n  args     %s\n  digest   %s\n  who      %s\n  expires  %s\n",
		r.ApprovalID, r.State, r.ToolID, r.Effect, r.Risk, app.QuoteName(r.RequestedBy), onBehalfOf(r), app.OneLine(string(r.Args), 400),
		r.Digest, app.OneLine(r.Approvers, 200), app.FormatTime(r.ExpiresAt))
	a.PrintPreview(r, 7, previewLines)
	a.PrintEscalations(r, 7)
	a.PrintMissing(r, 7)
	if r.Parked != "" {
		fmt.Fprintf(a.Out, "  unknown  %s: the tool ran and gave no answer, so the effect is unknown: `pawl resolve` decides\n", r.Parked)
	}
	if r.Message != "" {
		fmt.Fprintf(a.Out, "  why      %s\n", app.OneLine(r.Message, 200))
	}
}
