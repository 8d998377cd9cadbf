package terminaltest

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// BadFlags describes the flags of a command and of its subcommands whose help has backquotes that do
// not enclose one word. pflag shows the text between backquotes after the flag, as the name of its
// value.
func BadFlags(cmd *cobra.Command) (bad []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") || strings.Count(f.Usage, "`") > 2 {
			bad = append(bad, fmt.Sprintf("%s --%s %s: %s", cmd.CommandPath(), f.Name, name, f.Usage))
		}
	})
	for _, sub := range cmd.Commands() {
		bad = append(bad, BadFlags(sub)...)
	}
	return bad
}
