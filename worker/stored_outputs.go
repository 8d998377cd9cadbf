package worker

import "github.com/pawl-run/pawl/toolspec/output"

// storedOutputs is the capability Outputs. Tools are bound to it before the database is open, because the policy is checked against
// the tools first; no tool runs before.
type storedOutputs struct{ output.Reader }

func newStoredOutputs() *storedOutputs { return &storedOutputs{} }
