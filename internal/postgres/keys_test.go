package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func newSigner(t *testing.T) proof.Signer {
	t.Helper()
	s, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKeys: a key belongs to one identity of one tenant, and never to another one.
func TestKeys(t *testing.T) {
	b := open(t)
	key, other := newSigner(t).Key(), newSigner(t).Key()
	for range 2 {
		if err := b.RegisterKey(t.Context(), tenant, "user:bob", key, "user:root"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.RegisterKey(t.Context(), tenant, "user:mallory", key, "user:root"); !errors.Is(err, identities.ErrKeyTaken) {
		t.Errorf("somebody else's key: %v", err)
	}
	if err := b.RegisterKey(t.Context(), "globex", "user:bob", key, "user:root"); err != nil {
		t.Errorf("in another tenant: %v", err)
	}
	if err := b.RegisterKey(t.Context(), tenant, "user:ann", other, "user:root"); err != nil {
		t.Fatal(err)
	}
	keys, err := b.Keys(t.Context(), tenant)
	if err != nil || len(keys) != 2 || keys[0].Identity != "user:ann" || keys[1].KeyID != key.ID() || keys[1].RegisteredBy != "user:root" || keys[1].RevokedAt != nil {
		t.Errorf("%+v, %v", keys, err)
	}
	for _, want := range []bool{true, false} {
		if who, revoked, err := b.RevokeKey(t.Context(), tenant, key.ID(), "user:root"); err != nil || who != "user:bob" || revoked != want {
			t.Errorf("%q, %v, %v", who, revoked, err)
		}
	}
	if _, _, err := b.RevokeKey(t.Context(), "initech", key.ID(), "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("another tenant's key: %v", err)
	}
	if err := b.RegisterKey(t.Context(), tenant, "user:bob", key, "user:root"); !errors.Is(err, identities.ErrKeyTaken) {
		t.Errorf("a revoked key: %v", err)
	}
	if got := value[string](b, `SELECT string_agg(kind || ' ' || tenant_id || ' ' || (detail->>'identity') || ' ' || (detail->>'by'), ', ' ORDER BY at) FROM events`); got !=
		"key_registered acme user:bob user:root, key_registered globex user:bob user:root, key_registered acme user:ann user:root, key_revoked acme user:bob user:root" {
		t.Errorf("audited: %s", got)
	}
}

// TestTheJudgeSeesTheKey: the function that judges a decision gets the key that the decision names, if the key belongs to the tenant of the request.
func TestTheJudgeSeesTheKey(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	key, foreign := newSigner(t).Key(), newSigner(t).Key()
	if err := b.RegisterKey(t.Context(), tenant, "user:bob", key, "user:root"); err != nil {
		t.Fatal(err)
	}
	if err := b.RegisterKey(t.Context(), "globex", "user:bob", foreign, "user:root"); err != nil {
		t.Fatal(err)
	}
	looks := 0
	see := func(keyID string) (saw approval.OpenRequest) {
		looks++ // the same decision is not judged again
		row := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Deny))
		row.KeyID, row.Decision.Reason = keyID, fmt.Sprint(looks)
		row.Judge = func(r approval.OpenRequest) (approval.Judgement, error) {
			saw = r
			return final(toolspec.Answer{Reason: "only looking"})
		}
		b.review(row)
		return saw
	}
	saw := see(key.ID())
	if saw.Key == nil || saw.Key.Identity != "user:bob" || saw.Key.Key.ID() != key.ID() || saw.Key.Revoked || saw.Digest != requestRow("call_1", 1).View.Digest {
		t.Errorf("%+v", saw)
	}
	if d := time.Since(saw.Now); d < -time.Minute || d > time.Minute {
		t.Errorf("the database's clock says %s", saw.Now)
	}
	for _, id := range []string{"", foreign.ID()} {
		if saw := see(id); saw.Key != nil {
			t.Errorf("%q: %+v", id, saw.Key)
		}
	}
	if _, _, err := b.RevokeKey(t.Context(), tenant, key.ID(), "user:root"); err != nil {
		t.Fatal(err)
	}
	if saw := see(key.ID()); saw.Key == nil || !saw.Key.Revoked {
		t.Errorf("%+v", saw.Key)
	}
}

// TestQuorum: the request stays open until enough different people have approved, and one denial ends it.
func TestQuorum(t *testing.T) {
	by := func(b bench, who string, verb toolspec.Verb) approval.ReviewRecord {
		d := decision("call_1", 1, verb)
		d.Approver = who
		return b.review(reviewRow("call_1", 1, 1, d))
	}
	opened := func(t *testing.T) bench {
		b := open(t)
		b.admit("call_1")
		row := requestRow("call_1", 1)
		row.Rule = policy.ApprovalRule{Enabled: true, AllowUnsigned: true, ExpiresAfterMs: 60_000, Quorum: 2}
		b.request(row)
		return b
	}
	t.Run("approved", func(t *testing.T) {
		b := opened(t)
		for range 2 { // the second approval is the first one, delivered again
			if got := by(b, "user:bob", toolspec.Approve); got.State != contract.RequestOpen || got.Answer != (toolspec.Answer{Counted: true, Reason: "1 of 2 approvals"}) || got.Approver != "" {
				t.Fatalf("%+v", got)
			}
		}
		if again := b.request(requestRow("call_1", 1)); again.Number != 1 || again.State != contract.RequestOpen {
			t.Errorf("asked again: %+v", again)
		}
		if got := by(b, "user:cid", toolspec.Approve); got.State != contract.RequestApproved || !got.Answer.Counted || got.Approver != "user:cid" {
			t.Errorf("%+v", got)
		}
		if got := by(b, "user:dan", toolspec.Approve); got.Answer.Counted {
			t.Errorf("too late: %+v", got)
		}
		d := b.detail("call_1").Approvals[0].Decisions
		if len(d) != 3 || d[0].Final || !d[1].Final || d[2].Counted {
			t.Errorf("%+v", d)
		}
	})
	t.Run("denied", func(t *testing.T) {
		b := opened(t)
		by(b, "user:bob", toolspec.Approve)
		if got := by(b, "user:bob", toolspec.Deny); got.State != contract.RequestDenied || !got.Answer.Counted || got.Approver != "user:bob" {
			t.Errorf("who thinks again: %+v", got)
		}
	})
	t.Run("at once", func(t *testing.T) {
		// Another approval is counted between the look and the decision, so the later decision is judged again with both.
		b := opened(t)
		d := decision("call_1", 1, toolspec.Approve)
		d.Approver = "user:cid"
		row := reviewRow("call_1", 1, 1, d)
		judge, asked := row.Judge, 0
		row.Judge = func(r approval.OpenRequest) (approval.Judgement, error) {
			if asked++; asked == 1 {
				by(b, "user:bob", toolspec.Approve)
			}
			return judge(r)
		}
		if got := b.review(row); asked != 2 || got.State != contract.RequestApproved || got.Approver != "user:cid" {
			t.Errorf("asked %d times: %+v", asked, got)
		}
	})
}
