package app

import (
	"context"

	"github.com/spf13/cobra"
)

// AuditedCommand completes a command that changes something in the name of a person: it gives the command the flag --as, and calls change
// with a session that has the database, and Temporal if needTemporal is set.
func AuditedCommand(cmd *cobra.Command, needTemporal bool, change func(ctx context.Context, s *Session, args []string, by string) error) *cobra.Command {
	var by string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := RequireIdentity(by, ForAudit); err != nil {
			return err
		}
		s, err := Connect(cmd.Context(), Servers{Temporal: needTemporal, Database: true})
		if err != nil {
			return err
		}
		defer s.Close()
		return change(cmd.Context(), s, args, by)
	}
	IdentityVar(cmd.Flags(), &by, "as", DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}
