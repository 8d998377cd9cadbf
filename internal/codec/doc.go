// Package codec encrypts the data that Temporal stores: payloads of inputs, results, signals,
// markers, memos and summaries, and the texts of failures. Search attributes, workflow ids and the
// names of workflows stay readable, so they must hold no personal data.
//
// Keys come as a [Ring]: the first key encrypts, all keys decrypt. Each tenant has keys of its own,
// derived from the keys of the ring or given for that tenant alone. The workflow id says which
// tenant a payload belongs to; a payload that was moved to a call of another tenant does not open.
//
// The package must never log a payload or a key, and never let a payload pass in clear that could
// not be encrypted. worker and the command line import it.
package codec
