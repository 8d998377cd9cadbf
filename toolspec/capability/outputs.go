package capability

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

// OutputsKey is the typed name of Outputs.
var OutputsKey = toolspec.NewCapability[Outputs]("outputs")

// Outputs reads the stored outputs of all runs of a tenant. A tool must check that its call may read an output before it shows any part of
// it, as core__tool_output_cache does: the output belongs to the tenant and the run of the call, or to the subject of the call.
type Outputs interface{ output.Reader }
