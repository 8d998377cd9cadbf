package mcp

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the command `pawl mcp` with its subcommands.
func Commands(a *app.App) []*cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Review the tools that MCP servers offer"}
	cmd.AddCommand(newList(a), newReview(a), newTrust(a), newProvider(a))
	return []*cobra.Command{app.Group(cmd)}
}
