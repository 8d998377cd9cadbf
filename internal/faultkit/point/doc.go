// Package point names the points of a call before and after a step becomes durable: a commit in the
// record, an answer to Temporal, an effect. docs/outcomes.md lists the result of a call whose
// worker is killed at each point.
//
// It only names the points: package failpoint acts at them. Only packages of faultkit import it.
package point
