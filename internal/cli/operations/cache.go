package operations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

func newCache(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Remove values from the result cache"}
	var tags []string
	invalidate := &cobra.Command{
		Use:   "invalidate --tag TAG...",
		Short: "Remove the tenant's cached values with a tag, also the values of reads that still run",
		Args:  app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(tags) == 0 {
				return app.Usage(errors.New("--tag is missing"))
			}
			// Each tag is checked alone: the bound on the number of tags is for tools, not for this command.
			for _, tag := range tags {
				if err := toolspec.CheckCacheTags([]string{tag}); err != nil {
					return app.Usage(err)
				}
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				deleted, err := s.Store.InvalidateCache(cmd.Context(), a.Tenant, tags...)
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "tags": tags, "deleted": deleted})
				}
				fmt.Fprintf(a.Out, "%s: invalidated; %d cached values deleted\n", strings.Join(tags, ", "), deleted)
				return nil
			})
		},
	}
	invalidate.Flags().StringArrayVar(&tags, "tag", nil, "tag of a tool or a hook; may be repeated")
	cmd.AddCommand(invalidate)
	return app.Group(cmd)
}
