// Package price is a table of the prices of models, and the cost of a response by it. The table is a document that
// people write: Pawl has no prices of its own, because providers change theirs.
//
// It must never do I/O. Anybody may import it.
package price
