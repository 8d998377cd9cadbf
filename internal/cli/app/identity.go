package app

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/toolspec"
)

// approverEnv is the environment variable with the identity of the person at the terminal.
const approverEnv = "PAWL_APPROVER"

// identityFlag is a flag whose value is an identity. CheckIdentities calls check with the value. It
// checks the default too, which may come from the environment.
type identityFlag struct {
	name  *string
	check func(string) error
}

func (f identityFlag) String() string {
	if f.name == nil { // pflag calls String on the zero value
		return ""
	}
	return *f.name
}

func (f identityFlag) Set(name string) error {
	*f.name = name
	return nil
}

// Type returns the name of the type that the help shows.
func (f identityFlag) Type() string { return "string" }

// IdentityVar defines a flag for an identity, with the default value name.
func IdentityVar(flags *pflag.FlagSet, into *string, flag, name, usage string) {
	*into = name
	flags.Var(identityFlag{into, toolspec.CheckIdentity}, flag, usage)
}

// ActorVar defines a flag for the actor of a call, with the default value id.
func ActorVar(flags *pflag.FlagSet, into *string, flag, id, usage string) {
	*into = id
	flags.Var(identityFlag{into, toolspec.CheckActorID}, flag, usage)
}

// CheckIdentities returns a usage error if PAWL_APPROVER or a flag of IdentityVar has a text that is not an identity,
// or a flag of ActorVar a text that is not an actor. It accepts an empty text: each command decides whether it needs
// an identity.
func CheckIdentities(cmd *cobra.Command, _ []string) (err error) {
	if by := os.Getenv(approverEnv); by != "" {
		if bad := toolspec.CheckIdentity(by); bad != nil {
			return usageError{fmt.Errorf("%s: %w", approverEnv, bad)}
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(identityFlag); ok && *v.name != "" && err == nil {
			if bad := v.check(*v.name); bad != nil {
				err = usageError{fmt.Errorf("--%s: %w", f.Name, bad)}
			}
		}
	})
	return err
}

// QuoteName quotes an identity or another id for use in a line of text, cut at 100 characters.
func QuoteName(s string) string { return OneLine(toolspec.Quoted(s), 100) }

// ByFlag defines the flag --by for the identity of the person who runs the command, and lets the command begin only with an
// identity, which the audit trail records. verb is the verb in the help text of the flag, such as "adds".
func ByFlag(cmd *cobra.Command, by *string, verb string) {
	IdentityVar(cmd.Flags(), by, "by", DefaultApprover(), "who "+verb+" it, for the audit trail (PAWL_APPROVER)")
	cmd.PreRunE = func(*cobra.Command, []string) error { return RequireIdentity("--by", *by, ForAudit) }
}
