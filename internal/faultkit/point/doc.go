// Package point names the places of a call at which something becomes durable:
// a commit in the record, an answer to Temporal, an effect. docs/outcomes.md says
// what becomes of a call whose worker dies at each of them.
//
// It must never do anything at a point: package failpoint does. Only packages of faultkit
// import it.
package point
