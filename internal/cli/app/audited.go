package app

import (
	"context"

	"github.com/spf13/cobra"
)

// AuditedCommand completes a command whose change the audit trail records with the identity of a person. It adds the
// flag --as for this identity. The command connects to the servers, and then calls change.
func AuditedCommand(cmd *cobra.Command, servers Servers, change func(ctx context.Context, s *Session, args []string, by string) error) *cobra.Command {
	var by string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := RequireIdentity("--as", by, ForAudit); err != nil {
			return err
		}
		s, err := Connect(cmd.Context(), servers)
		if err != nil {
			return err
		}
		defer s.Close()
		return change(cmd.Context(), s, args, by)
	}
	IdentityVar(cmd.Flags(), &by, "as", DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}
