package memory

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// limitFlag defines the flag --limit.
func limitFlag(cmd *cobra.Command, limit *int, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, fmt.Sprintf("print at most this many entries, 1 to %d", client.MaxList))
}

func checkLimit(limit int) error {
	if limit < 1 || limit > client.MaxList {
		return app.Usage(fmt.Errorf("--limit is 1 to %d", client.MaxList))
	}
	return nil
}

func newList(a *app.App) *cobra.Command {
	var of sessionFlags
	var most int
	cmd := &cobra.Command{
		Use: "list [DIRECTORY]", Short: "List entries of the tenant's sessions, last written first",
		Long: "List entries of the tenant's sessions, last written first: notes, goals with their checkpoints and decisions, todos,\n" +
			"dumps and reasoning. TRUST is person if a person wrote all of an entry, and model if a tool call wrote or changed it.",
		Args: app.AtMostOneArg("at most one directory, such as /notes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := of.name()
			if err := errors.Join(err, checkLimit(most)); err != nil {
				return err
			}
			under := ""
			if len(args) > 0 {
				under = args[0]
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.MemoryOfTenant(cmd.Context(), a.Tenant, session, under, most)
				if err != nil {
					return err
				}
				return app.PrintRows(a, found, "there are no entries", []string{"WRITTEN", "SESSION", "PATH", "KIND", "TITLE", "BYTES", "VERSION", "TRUST", "AUTHOR"},
					func(e capability.MemoryEntry) []string {
						return []string{
							app.FormatTime(e.UpdatedAt), e.Session, e.Path, string(e.Kind), e.Title, fmt.Sprint(e.Bytes), fmt.Sprint(e.Version), string(e.Trust), e.ActorID,
						}
					})
			})
		},
	}
	of.register(cmd)
	limitFlag(cmd, &most, 100)
	return cmd
}

func newSearch(a *app.App) *cobra.Command {
	var of sessionFlags
	var most int
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Find entries by their words",
		Long: "Find entries that have all words of QUERY, the best ones first. QUERY may have phrases in double quotes, OR between\n" +
			"words and -word. It finds whole words only. The status is 1 if no entry matches.",
		Args: app.ExactArgs(1, "QUERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := of.name()
			if err := errors.Join(err, checkLimit(most)); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.SearchTenantMemory(cmd.Context(), a.Tenant, session, args[0], most)
				if err != nil {
					return err
				}
				err = app.PrintRows(a, found, "no entry matches", []string{"WRITTEN", "SESSION", "PATH", "TRUST", "EXCERPT"}, func(h capability.MemoryHit) []string {
					return []string{app.FormatTime(h.UpdatedAt), h.Session, h.Path, string(h.Trust), h.Excerpt}
				})
				if err == nil && len(found) == 0 {
					err = app.Silent(errors.New("no entry matches"))
				}
				return err
			})
		},
	}
	of.register(cmd)
	limitFlag(cmd, &most, 20)
	return cmd
}
