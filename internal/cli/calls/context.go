package calls

import (
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/toolspec"
)

// contextFlags are the flags of `pawl invoke` and `pawl turn` that narrow a call.
type contextFlags struct {
	connection string
	allowed    []string
	toolIDs    []string
}

func (f *contextFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.connection, "connection", "", "`id` of the connection that the tool uses; pawl connections list shows them")
	flags.StringSliceVar(&f.allowed, "allowed-connection", nil, "`ids` of the connections that the call may use; default that of --connection")
	flags.StringSliceVar(&f.toolIDs, "tool-ids", nil, "`ids` of the only tools that the run may call, as in context.toolIds; default all that policy allows")
}

// apply adds the flags to the context of a call and returns the connections that it may use. A
// connection that the command line names is allowed, unless --allowed-connection says otherwise.
func (f *contextFlags) apply(c *toolspec.Context) (allowed []string) {
	c.ConnectionID, c.ToolIDs = f.connection, f.toolIDs
	if f.connection != "" && f.allowed == nil {
		return []string{f.connection}
	}
	return f.allowed
}
