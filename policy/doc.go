// Package policy decides which calls a tenant may make. A policy is a document of rules that is
// compiled once. The pure function Decide judges one call by it.
//
// Everything that the document does not allow is denied. A document with an unknown element is
// refused as a whole, because ignoring an unknown condition would allow too much.
// development.yaml shows the elements of a document.
//
// It must never do I/O, read a clock, or know Temporal or Postgres; the same facts and the same
// document always give the same decision. It imports only toolspec and the libraries of YAML and
// CEL. Workflows must not import it (a decision is made in an activity); activities, adapters,
// the worker and the doors may.
package policy
