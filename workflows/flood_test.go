package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.temporal.io/api/sdk/v1"

	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// signedPolicy counts signed decisions only.
var signedPolicy = strings.Replace(testPolicy, ", allowUnsigned: true", "", 1)

// signer returns a new key. The method register registers a key for an identity.
func signer(t *testing.T) proof.Signer {
	t.Helper()
	s, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) register(identity string, s proof.Signer) {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	r.records.registered = append(r.records.registered, proof.Registered{Key: s.Key(), Identity: identity})
}

// sign returns the decision with a proof. A decision without a digest gets the digest of the open request.
func (r *rig) sign(s proof.Signer, d toolspec.Decision) toolspec.Decision {
	r.t.Helper()
	if d.Digest == "" {
		d.Digest = r.state().Approval.Digest
	}
	d, err := s.Sign(d, "acme", r.env.Now(), time.Hour)
	if err != nil {
		r.t.Error(err)
	}
	return d
}

// at runs f at a time of the call.
func (r *rig) at(after time.Duration, f func()) { r.env.RegisterDelayedCallback(f, after) }

func (r *rig) signal(d toolspec.Decision) { r.env.SignalWorkflow(toolspec.DecideName, d) }

// asked returns the number of reviews that the record has got so far.
func (r *rig) asked() int {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	return r.records.reviews
}

// forge returns the decision with a proof that names the key of victim and is signed with another key.
func forge(t *testing.T, d toolspec.Decision, victim proof.Signer, claims jwt.MapClaims) toolspec.Decision {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["typ"], token.Header["kid"] = "pawl-decision+jwt", victim.Key().ID()
	var err error
	if d.Proof, err = token.SignedString(signer(t).Private()); err != nil {
		t.Fatal(err)
	}
	return d
}

// forgeries returns n different decisions that cannot count.
func forgeries(t *testing.T, victim proof.Signer, n int) (all []toolspec.Decision) {
	t.Helper()
	for i := range n {
		d := decision(1, toolspec.Approve, "user:bob")
		switch d.Reason = fmt.Sprint(i); i % 4 {
		case 0: // unsigned
		case 1:
			d = forge(t, d, victim, jwt.MapClaims{"sub": "user:bob"})
		case 2:
			d.Digest = strings.Repeat("0", 64)
		case 3:
			d.Decision = toolspec.SettleOK
		}
		all = append(all, d)
	}
	return all
}

// taken returns the number of updates that the call accepted. Only these count against the server's limit.
func taken(replies []*reply) (n int) {
	for _, r := range replies {
		if r.rejected == nil {
			n++
		}
	}
	return n
}

// TestForgedUpdates: the call refuses an update that cannot count, before the server counts the update, and without a review in the record.
func TestForgedUpdates(t *testing.T) {
	r := newRig(t, rigOptions{policy: signedPolicy})
	bob := signer(t)
	r.register("user:bob", bob)
	var forged []*reply
	for i, d := range forgeries(t, bob, 200) {
		forged = append(forged, r.update(time.Minute+time.Duration(i)*time.Millisecond, d))
	}
	before := 0
	r.at(2*time.Minute, func() { before = r.asked() })
	r.at(3*time.Minute, func() { r.send(r.sign(bob, decision(1, toolspec.Approve, "user:bob"))) })
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	for i, f := range forged {
		if f.rejected == nil {
			t.Fatalf("%d: %+v, want a refusal", i, f)
		}
	}
	if before != 0 {
		t.Errorf("the record was asked %d times about forgeries", before)
	}
}

// TestForgedSignals: signals that cannot count cause no review in the record, and the state counts them. They do not push out the answer to
// the signal that counts.
func TestForgedSignals(t *testing.T) {
	r := newRig(t, rigOptions{policy: signedPolicy})
	bob := signer(t)
	r.register("user:bob", bob)
	var state toolspec.State
	var good toolspec.Decision
	r.at(time.Minute, func() {
		for _, d := range forgeries(t, bob, 400) {
			r.signal(d)
		}
	})
	before := -1
	r.at(2*time.Minute, func() {
		before = r.asked()
		state = r.state()
		good = r.sign(bob, decision(1, toolspec.Approve, "user:bob"))
		r.signal(good)
	})
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if before != 0 || state.Dropped != 400 || len(state.Answers) != 16 || state.Answers[15].Reason == "" {
		t.Errorf("the record was asked %d times, and the state says %+v", before, state)
	}
	found := false
	for _, a := range r.state().Answers {
		found = found || a.ID == good.ID() && a.Counted
	}
	if !found {
		t.Errorf("the answer to the one that counts is not among %+v", r.state().Answers)
	}
}

// TestCopiedProofs: of many copies of one signed decision, the call takes in 8 and rejects the others, and the 8 count as one approval. It rejects every
// decision with a proof that was made for another request.
func TestCopiedProofs(t *testing.T) {
	r := newRig(t, rigOptions{policy: strings.Replace(signedPolicy, "expiresAfter: 1h", "expiresAfter: 1h, quorum: 2", 1)})
	bob, cid := signer(t), signer(t)
	r.register("user:bob", bob)
	r.register("user:cid", cid)
	var same, moved []*reply
	r.at(time.Minute, func() {
		first := r.sign(bob, decision(1, toolspec.Approve, "user:bob"))
		other := decision(1, toolspec.Approve, "user:bob")
		foreign(&other)
		other = r.sign(bob, other)
		other.ApprovalID = first.ApprovalID
		for i := range 40 {
			r.at(time.Duration(i)*time.Second, func() {
				same = append(same, r.send(first))
				other.Reason = fmt.Sprint(i) // the rest of the decision may be anything
				moved = append(moved, r.send(other))
			})
		}
	})
	r.at(10*time.Minute, func() { r.send(r.sign(cid, decision(1, toolspec.Approve, "user:cid"))) })
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if a, b := taken(same), taken(moved); len(same) != 40 || a != 8 || b != 0 {
		t.Errorf("the same proof was taken %d times, want 8; that of another request %d times, want 0", a, b)
	}
}

// TestKeyRegisteredLater: a key that is registered after the request was opened counts. The call accepts decisions by unknown keys at a
// bounded rate, so that a key that is registered later can still count.
func TestKeyRegisteredLater(t *testing.T) {
	for name, attacked := range map[string]bool{"in peace": false, "among forgeries": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: signedPolicy})
			bob := signer(t)
			var forged []*reply
			if attacked {
				for i := range 300 {
					r.at(time.Minute+time.Duration(i)*time.Second, func() {
						d := decision(1, toolspec.Approve, "user:bob")
						d.Reason = fmt.Sprint(i)
						forged = append(forged, r.send(r.sign(signer(t), d)))
					})
				}
			}
			var last *reply
			r.at(4*time.Minute, func() {
				r.register("user:bob", bob)
				d := r.sign(bob, decision(1, toolspec.Approve, "user:bob"))
				for i := range 60 { // repeat the decision as the client does, until the call has read the new keys
					r.at(time.Duration(i)*5*time.Second, func() {
						if last == nil || last.rejected != nil {
							last = r.send(d)
						}
					})
				}
			})
			if result := r.run(call("core__write", args)); !result.OK {
				t.Errorf("got %+v", result)
			}
			if n := taken(forged); attacked && (n < 8 || n > 16) {
				t.Errorf("%d of %d decisions with unknown keys were taken", n, len(forged))
			}
		})
	}
}

// TestKeysAreReadAgain: each accepted decision by an unknown key makes the call read the keys again. So even a forger who uses every turn makes
// the call learn a new key.
func TestKeysAreReadAgain(t *testing.T) {
	r := newRig(t, rigOptions{policy: signedPolicy})
	bob := signer(t)
	unknown := func() *reply { return r.send(r.sign(signer(t), decision(1, toolspec.Approve, "user:bob"))) }
	var first []*reply
	var turn, early, bobs *reply
	r.at(time.Minute, func() {
		for range 9 {
			first = append(first, unknown())
		}
	})
	r.at(time.Minute+5*time.Second, func() {
		r.register("user:bob", bob)
		early = r.send(r.sign(bob, decision(1, toolspec.Approve, "user:bob")))
	})
	r.at(time.Minute+16*time.Second, func() { turn = unknown() })
	r.at(time.Minute+17*time.Second, func() { bobs = r.send(r.sign(bob, decision(1, toolspec.Approve, "user:bob"))) })
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if n := taken(first); n != 8 || turn.rejected != nil || bobs.rejected != nil {
		t.Errorf("%d were taken at once, the turn: %v, bob's: %v", n, turn.rejected, bobs.rejected)
	}
	if early.rejected == nil || !strings.Contains(early.rejected.Error(), toolspec.DecideAgain) {
		t.Errorf("before the call has read the keys: %v", early.rejected)
	}
}

// TestUnverifiableUpdates: the call accepts a bounded number of updates that only the record can judge. After that, it still accepts updates by
// keys that it knows.
func TestUnverifiableUpdates(t *testing.T) {
	r := newRig(t, rigOptions{})
	bob := signer(t)
	r.register("user:bob", bob)
	var forged []*reply
	for batch := range 102 {
		r.at(time.Minute+time.Duration(batch)*time.Second, func() {
			for i := range 10 {
				d := decision(1, toolspec.Approve, "user:ann") // the requester, whose approval does not count
				d.Reason = fmt.Sprint(batch, i)
				forged = append(forged, r.send(d))
			}
		})
	}
	var signed *reply
	r.at(5*time.Minute, func() { signed = r.send(r.sign(bob, decision(1, toolspec.Approve, "user:bob"))) })
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if n := taken(forged); n != 1000 || !strings.Contains(forged[1019].rejected.Error(), toolspec.DecideBySignal) {
		t.Errorf("%d were taken, and the last one: %+v", n, forged[1019])
	}
	if signed.rejected != nil {
		t.Errorf("the signed one: %v", signed.rejected)
	}
}

// TestEarlyUpdates: the server allows ten updates in flight for a workflow. Updates for requests that are not open use at most five of them.
func TestEarlyUpdates(t *testing.T) {
	r := newRig(t, rigOptions{})
	var early []*reply
	for i := range 10 {
		early = append(early, r.update(time.Minute, decision(2+i, toolspec.Approve, "user:eve")))
	}
	r.update(2*time.Minute, decision(1, toolspec.Approve, "user:bob"))
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if n := taken(early); n != 5 {
		t.Errorf("%d updates waited, want 5", n)
	}
}

// TestEarlyForgeries: when the request is opened, the call drops the early decisions that cannot count, without a review in the record.
func TestEarlyForgeries(t *testing.T) {
	r := newRig(t, rigOptions{policy: signedPolicy})
	bob := signer(t)
	r.register("user:bob", bob)
	r.at(0, func() {
		for _, d := range forgeries(t, bob, 70) {
			r.signal(d)
		}
	})
	before := -1
	r.at(time.Minute, func() {
		before = r.asked()
		r.signal(r.sign(bob, decision(1, toolspec.Approve, "user:bob")))
	})
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if n := r.state().Dropped; before != 0 || n != 70 {
		t.Errorf("the record was asked %d times, and %d decisions were dropped", before, n)
	}
}

// TestDroppedAreShown: the details of the workflow show that the call drops decisions.
func TestDroppedAreShown(t *testing.T) {
	r := newRig(t, rigOptions{policy: signedPolicy})
	bob := signer(t)
	r.register("user:bob", bob)
	r.at(time.Minute, func() { r.signal(decision(1, toolspec.Approve, "user:bob")) })
	details := ""
	r.at(2*time.Minute, func() {
		v, err := r.env.QueryWorkflow("__temporal_workflow_metadata")
		if err != nil {
			t.Error(err)
			return
		}
		var metadata sdk.WorkflowMetadata
		if err := v.Get(&metadata); err != nil {
			t.Error(err)
		}
		details = metadata.GetCurrentDetails()
	})
	if result := r.run(call("core__write", args)); result.ErrorCode != toolspec.CodeApprovalExpired {
		t.Errorf("got %+v", result)
	}
	if !strings.Contains(details, "1 signals dropped") {
		t.Errorf("the details are %s", details)
	}
}
