package app

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/toolspec"
)

// approverEnv names the person at the terminal.
const approverEnv = "PAWL_APPROVER"

// identityFlag is a flag whose value is the name of somebody: see
// toolspec.CheckIdentity. The default, which may come from the environment, is held to
// it too.
type identityFlag struct{ name *string }

func (f identityFlag) String() string {
	if f.name == nil { // pflag asks the zero value
		return ""
	}
	return *f.name
}

func (f identityFlag) Set(name string) error {
	*f.name = name
	return nil
}

// Type is what help shows.
func (f identityFlag) Type() string { return "string" }

// IdentityVar defines a flag for the name of somebody.
func IdentityVar(flags *pflag.FlagSet, into *string, flag, name, usage string) {
	*into = name
	flags.Var(identityFlag{into}, flag, usage)
}

// CheckIdentities refuses names that nobody can have. An empty one is for the command
// to judge.
func CheckIdentities(cmd *cobra.Command, _ []string) (err error) {
	if by := os.Getenv(approverEnv); by != "" {
		if bad := toolspec.CheckIdentity(by); bad != nil {
			return usageError{fmt.Errorf("%s: %w", approverEnv, bad)}
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(identityFlag); ok && *v.name != "" && err == nil {
			if bad := toolspec.CheckIdentity(*v.name); bad != nil {
				err = usageError{fmt.Errorf("--%s: %w", f.Name, bad)}
			}
		}
	})
	return err
}

// QuoteName shows the name of somebody beside other words, at most 100 characters of it.
func QuoteName(s string) string { return OneLine(toolspec.Quoted(s), 100) }

// ByFlag says who does something.
func ByFlag(cmd *cobra.Command, by *string, does string) {
	IdentityVar(cmd.Flags(), by, "by", DefaultApprover(), "who "+does+" it, for the audit trail (PAWL_APPROVER)")
}
