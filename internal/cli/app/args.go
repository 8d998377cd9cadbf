package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group makes a command that only holds others refuse what is none of them.
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

// SomeArgs wants one argument or more.
func SomeArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}

// ExactArgs wants n arguments; what names them in the error.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}

// AtMostOneArg wants no argument or one.
func AtMostOneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}
