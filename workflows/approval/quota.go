package approval

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// A Temporal server accepts at most 2 000 updates and 10 000 signals per workflow, and
// at most 10 updates in flight. With the bounds below, other senders cannot use up these limits: a part of each
// limit is left for the people who may decide.
const (
	// maxRepeats bounds how often a call accepts the same proof, and how often the call
	// confirms a decision that counted.
	maxRepeats = 8
	// maxProofs bounds the different proofs by one key.
	maxProofs = 32
	// maxUnverified bounds the decisions that only the activity Review can verify. The bound holds
	// for updates and for signals separately.
	maxUnverified = 1000
	// maxUnlisted is the number of decisions by unlisted keys (see evidence) that a call accepts without
	// a pause. After that number, the call accepts the next such decision only after
	// unlistedPause. The pause doubles each time, up to maxUnlistedPause.
	maxUnlisted      = 8
	unlistedPause    = 15 * time.Second
	maxUnlistedPause = time.Hour
	// maxEarlyUpdates bounds the updates in flight for requests that are not open.
	maxEarlyUpdates = 5
	// maxSignatures is how many signatures of signals a call verifies in one workflow task. The SDK reports a
	// deadlock if a task takes more than a second.
	maxSignatures = 500
)

// refusal says why a call does not accept a decision. The zero value means that the call
// accepts it.
type refusal struct {
	reason string
	// kind is the type of the error that the sender of an update gets, such as toolspec.DecideAgain.
	kind string
}

// quota counts the decisions that a call has accepted, by kind of evidence.
type quota struct {
	// unverified counts the decisions whose sender the workflow cannot verify. The key is true for
	// updates and false for signals.
	unverified map[bool]int
	// unlisted counts the decisions by unlisted keys.
	unlisted int
	// nextUnlisted is the earliest time for the next decision by an unlisted key.
	nextUnlisted time.Time
	// proofs has the number of deliveries of each proof, by key id and signed text.
	proofs map[string]map[string]int
	// signaturesAt is the time of the workflow task in which signatures were last verified.
	signaturesAt time.Time
	// signatures counts the signatures that came in the workflow task of signaturesAt, also those that the task may not verify.
	signatures int
}

// check returns why the quota does not allow another decision of this kind of evidence.
// It returns the zero refusal if the quota allows it. check changes nothing.
func (q *quota) check(kind evidence, token *decisionToken, now time.Time, update bool) refusal {
	switch kind {
	case unlisted:
		if wait := q.nextUnlisted.Sub(now); wait > 0 {
			return refusal{fmt.Sprintf("the proof is signed with a key that is not registered for this tenant, or may not decide; "+
				"the call looks for new keys in %s: send the decision again then", wait.Round(time.Second)), toolspec.DecideAgain}
		}
	case verified:
		proofs := q.proofs[token.keyID]
		repeats, known := proofs[token.signed]
		switch {
		case repeats >= maxRepeats:
			return refusal{fmt.Sprintf("the same proof came %d times; sign the decision again", maxRepeats), toolspec.DecideRefused}
		case !known && len(proofs) >= maxProofs:
			return refusal{fmt.Sprintf("the call took %d decisions that were signed with this key, which is its limit", maxProofs), toolspec.DecideRefused}
		}
	case unverified:
		if q.unverified[update] >= maxUnverified {
			return refusal{fmt.Sprintf("the call took %d decisions that it cannot verify by itself, which is its limit", maxUnverified), toolspec.DecideBySignal}
		}
	}
	return refusal{}
}

// count adds a decision that the call accepted to the counts that check compares with the
// bounds. Each decision by an unlisted key after the first maxUnlisted doubles the pause.
func (q *quota) count(kind evidence, token *decisionToken, now time.Time, update bool) {
	switch kind {
	case unlisted:
		if q.unlisted++; q.unlisted >= maxUnlisted {
			pause := min(unlistedPause<<min(q.unlisted-maxUnlisted, 16), maxUnlistedPause)
			q.nextUnlisted = now.Add(pause)
		}
	case verified:
		if q.proofs == nil {
			q.proofs = map[string]map[string]int{}
		}
		if q.proofs[token.keyID] == nil {
			q.proofs[token.keyID] = map[string]int{}
		}
		q.proofs[token.keyID][token.signed]++
	case unverified:
		if q.unverified == nil {
			q.unverified = map[bool]int{}
		}
		q.unverified[update]++
	}
}

// countSignature counts one more signature, and reports whether the workflow task that runs at
// time now may verify it. All code of one workflow task sees the same time.
func (q *quota) countSignature(now time.Time) bool {
	if !now.Equal(q.signaturesAt) {
		q.signaturesAt, q.signatures = now, 0
	}
	q.signatures++
	return q.signatures <= maxSignatures
}

// maxAnswers is the largest number of answers to accepted decisions that the state query
// shows, and also the largest number of answers to dropped decisions.
const maxAnswers = 16

// answers holds the last answers to signals. The state query is the only way for the
// sender of a signal to learn the answer.
type answers []toolspec.SignalAnswer

// with returns the answers with the answer to d added. If there are more than maxAnswers,
// it leaves out the oldest answers.
func (a answers) with(d toolspec.Decision, answer toolspec.Answer) answers {
	id := d.ID() //workflowcheck:ignore
	a = append(a, toolspec.SignalAnswer{
		ID: id, ApprovalID: d.ApprovalID, Counted: answer.Counted, Reason: answer.Reason, Again: answer.Again,
	})
	return a[max(0, len(a)-maxAnswers):]
}
