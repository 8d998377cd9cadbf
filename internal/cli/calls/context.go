package calls

import (
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/toolspec"
)

// contextFlags are the flags of `pawl invoke` and `pawl turn` that say which connections and which tools a call may
// use.
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

// apply writes the flags into the context of a call, and returns the connections that the call may use: those of
// --allowed-connection or, without this flag, the connection of --connection.
func (f *contextFlags) apply(c *toolspec.Context) (allowed []string) {
	c.ConnectionID, c.ToolIDs = f.connection, f.toolIDs
	if f.connection != "" && f.allowed == nil {
		return []string{f.connection}
	}
	return f.allowed
}
