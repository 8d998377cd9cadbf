package devcli

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

//go:embed demo.yaml
var demoYAML string

// demoPolicy returns the policy of the demo.
func demoPolicy() (*policy.Policy, error) { return policy.Parse("demo.yaml", []byte(demoYAML)) }

// enroll makes a key for the approver and registers it for the tenant of the demo.
func (d *demo) enroll(ctx context.Context, databaseURL string) error {
	d.approver = "user:demo-approver"
	if d.ask {
		d.approver = app.DefaultApprover()
	}
	store, err := postgres.Open(ctx, databaseURL, postgres.Options{MaxConns: 1, Application: "pawl-demo"})
	if err != nil {
		return err
	}
	defer store.Close()
	if d.signer, err = proof.NewSigner(); err != nil {
		return err
	}
	return store.RegisterKey(ctx, demoTenant, d.approver, d.signer.Key(), "pawl demo")
}

// forge sends an approval in the name of the approver, signed with a key that is not
// registered. It fails if that approval counts.
func (d *demo) forge(ctx context.Context, workflowID string, view toolspec.ApprovalView) error {
	mallory, err := proof.NewSigner()
	if err != nil {
		return err
	}
	answer, err := d.decision(ctx, mallory, workflowID, view, toolspec.Approve)
	if err != nil {
		return err
	}
	if answer.Counted {
		return fmt.Errorf("a forged approval of %s counted", view.ApprovalID)
	}
	d.say("a forged approval does not count: %s", answer.Reason)
	return nil
}

// send sends a decision of the approver. It fails if the decision does not count.
func (d *demo) send(ctx context.Context, workflowID string, view toolspec.ApprovalView, verb toolspec.Verb) error {
	answer, err := d.decision(ctx, d.signer, workflowID, view, verb)
	if err != nil {
		return err
	}
	if !answer.Counted {
		return fmt.Errorf("the decision did not count: %s", answer.Reason)
	}
	d.say("%s decides: %s, signed with the key %s…", d.approver, verb, d.signer.Key().ID()[:8])
	return nil
}

// decision signs a decision in the name of the approver with key, and sends it.
func (d *demo) decision(ctx context.Context, key proof.Signer, workflowID string, view toolspec.ApprovalView, verb toolspec.Verb) (toolspec.Answer, error) {
	decision, err := key.Sign(toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: verb, Digest: view.Digest, Approver: d.approver,
	}, demoTenant, time.Now(), app.SignedFor)
	if err != nil {
		return toolspec.Answer{}, err
	}
	return d.client.Decide(ctx, workflowID, decision)
}
