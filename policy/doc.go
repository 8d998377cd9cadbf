// Package policy is what a tenant allows: a document of rules, compiled once,
// and the pure function Decide that judges one call by it.
//
// Everything is denied that the document does not allow. A document that uses
// something this version does not know is refused as a whole: a condition that
// was silently ignored would allow too much. development.yaml shows what a
// document may hold.
//
// It must never do I/O, read a clock, or know Temporal or Postgres; the same
// facts and the same document always give the same decision. It imports only
// toolspec and the libraries of YAML and CEL. Workflows must not import it (a
// decision is made in an activity); activities, adapters, the worker and the
// doors may.
package policy
