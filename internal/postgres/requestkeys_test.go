package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// TestKeysOfARequest: a request returns the valid keys of its tenant, and says so if there are more keys than it reads. A review that is asked for them returns
// the present keys and the rule of the request, also when it records a decision.
func TestKeysOfARequest(t *testing.T) {
	b := open(t)
	b.admit("c")
	register := func(tenantID, identity string) proof.Key {
		t.Helper()
		key := newSigner(t).Key()
		if err := b.RegisterKey(t.Context(), tenantID, identity, key, "user:root"); err != nil {
			t.Fatal(err)
		}
		return key
	}
	has := func(keys approval.RequestKeys, want ...proof.Key) {
		t.Helper()
		if len(keys.Keys) != len(want) || keys.More {
			t.Fatalf("%d keys, more %t, want %d", len(keys.Keys), keys.More, len(want))
		}
		for i, k := range keys.Keys {
			if k.Key.ID() != want[i].ID() || k.Revoked {
				t.Errorf("key %d is %s of %s, want %s", i, k.Key.ID(), k.Identity, want[i].ID())
			}
		}
	}
	ann, gone := register(tenant, "user:ann"), register(tenant, "user:gone")
	register("globex", "user:eve")
	if _, _, err := b.RevokeKey(t.Context(), tenant, gone.ID(), "user:root"); err != nil {
		t.Fatal(err)
	}
	opened := b.request(requestRow("c", 1))
	has(opened.Keys, ann)
	if !opened.Rule.AllowUnsigned {
		t.Errorf("the rule is %+v", opened.Rule)
	}
	bob := register(tenant, "user:bob")
	stricter := requestRow("c", 1)
	stricter.Rule.AllowUnsigned = false
	again := b.request(stricter)
	has(again.Keys, ann, bob)
	if !again.Rule.AllowUnsigned {
		t.Errorf("found again, the rule is that of today and not the request's own: %+v", again.Rule)
	}
	denied := decision("c", 1, toolspec.Deny)
	denied.Approver = "user:ann" // the requester, who may not decide
	row := reviewRow("c", 1, 1, denied)
	if plain := b.review(row); plain.Request != nil || plain.Keys.Keys != nil {
		t.Errorf("a review that was not asked brings %+v", plain)
	}
	for _, reason := range []string{"new", "new"} { // the first review records the decision, and the second finds it
		row.Decision.Reason, row.Refresh = reason, true
		review := b.review(row)
		has(review.Keys, ann, bob)
		if review.Request == nil || !review.Request.Rule.AllowUnsigned || review.Request.RequestedBy != "user:ann" {
			t.Errorf("the review brings %+v", review.Request)
		}
	}
	b.sql(`INSERT INTO approver_keys (tenant_id, key_id, identity, public_key, registered_by)
		SELECT $1, 'key-' || n, 'user:' || n, sha256(n::text::bytea), 'user:root' FROM generate_series(1, $2::integer) n`, tenant, approval.MaxKeys)
	if many := b.request(requestRow("c", 1)); len(many.Keys.Keys) != approval.MaxKeys || !many.Keys.More {
		t.Errorf("of %d keys it brings %d, more %t", approval.MaxKeys+2, len(many.Keys.Keys), many.Keys.More)
	}
}
