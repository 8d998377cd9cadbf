// Package codec encrypts what Temporal keeps: payloads of inputs, results, signals, markers, memos and summaries, and the texts of
// failures. Search attributes, workflow ids and the names of workflows stay readable, so nothing personal may stand there.
//
// Keys come as a [Ring]: the first one writes, all of them read. Each tenant has keys of its own, derived from those of the ring or given
// for it alone; which tenant a payload belongs to says the id of its workflow, and a payload that was moved to a call of another tenant
// does not open.
//
// The package must never log a payload or a key, and never let something pass in clear that could not be encrypted. worker and the doors
// import it.
package codec
