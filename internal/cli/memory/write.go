package memory

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func newPut(a *app.App) *cobra.Command {
	var of sessionFlags
	var by, keep string
	cmd := &cobra.Command{
		Use: "put PATH", Short: "Write an entry of a session from standard input",
		Long: "Write an entry of a session from standard input, as a whole: a new one, or in the place of a note. Tools read it with\n" +
			"the trust person, until a tool call changes it. It is refused if it looks like a credential.",
		Args: app.ExactArgs(1, "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := of.required()
			if err != nil {
				return err
			}
			if err := app.RequireIdentity("--as", by, "which is kept with the change"); err != nil {
				return err
			}
			longest := capability.LongestMemoryKeep(session)
			kept := longest
			if keep != "" {
				if kept, err = app.ParseTimespan("--for", keep); err != nil {
					return err
				}
			}
			if kept > longest {
				return app.Usage(fmt.Errorf("--for is at most %dd", longest/(24*time.Hour)))
			}
			text, err := io.ReadAll(io.LimitReader(a.In, capability.MaxMemoryEntry+1))
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				caller := capability.MemoryCaller{TenantID: a.Tenant, Session: session, ActorID: by, Trust: capability.TrustPerson}
				e, err := s.Store.WriteMemory(cmd.Context(), caller, capability.MemoryWrite{Action: capability.MemoryPut, Path: args[0], Content: string(text), Keep: kept})
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, e)
				}
				fmt.Fprintf(a.Out, "%s: version %d, kept until %s\n", app.OneLine(e.Path, 300), e.Version, app.FormatTime(e.ExpiresAt))
				return nil
			})
		},
	}
	of.register(cmd)
	cmd.Flags().StringVar(&keep, "for", "", "how long to keep it, such as 8h or 30d (default 365d, with --run 30d)")
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, which is kept with the entry (PAWL_APPROVER)")
	return cmd
}
