package capability

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

// OutputsKey is the typed name of Outputs.
var OutputsKey = toolspec.NewCapability[Outputs]("outputs")

// Outputs reads the stored outputs of all runs of a tenant. A tool must check that an output belongs to the tenant and the run of its call
// before it shows any part of it.
type Outputs interface{ output.Reader }
