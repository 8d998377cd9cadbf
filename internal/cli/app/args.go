package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group gives cmd, which has only subcommands, an error for an unknown subcommand. The error
// suggests names. The root command without arguments prints its help.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.HasParent() {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		if len(args) == 0 {
			return usageError{fmt.Errorf("expected one of: %s", strings.Join(names, ", "))}
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			names = near
		}
		return usageError{fmt.Errorf("%q is no command; did you mean: %s?", args[0], strings.Join(names, ", "))}
	}
	return cmd
}

// SomeArgs requires at least one argument. The error says that it expected names, the names of the
// arguments.
func SomeArgs(names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("expected %s", names)}
		}
		return nil
	}
}

// ExactArgs requires exactly n arguments. The error says that it expected names, the names of the
// arguments.
func ExactArgs(n int, names string) cobra.PositionalArgs { return RangeArgs(n, n, names) }

// RangeArgs requires from least to limit arguments. The error says that it expected names.
func RangeArgs(least, limit int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > limit {
			return usageError{fmt.Errorf("expected %s", names)}
		}
		return nil
	}
}

// AtMostOneArg requires no argument or one argument. The error says that it expected name, the
// name of the argument.
func AtMostOneArg(name string) cobra.PositionalArgs { return RangeArgs(0, 1, name) }
