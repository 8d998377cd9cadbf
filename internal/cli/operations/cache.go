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
	cmd := &cobra.Command{Use: "cache", Short: "Void kept results of reads"}
	var tags []string
	invalidate := &cobra.Command{
		Use:   "invalidate --tag TAG...",
		Short: "Void what the tenant's result cache holds under a tag, also what is still being read",
		Args:  app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(tags) == 0 {
				return app.Usage(errors.New("--tag is missing"))
			}
			// One at a time: the bound on the number of tags is for tools, not for this command.
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
				fmt.Fprintf(a.Out, "%s: void; %d kept results deleted\n", strings.Join(tags, ", "), deleted)
				return nil
			})
		},
	}
	invalidate.Flags().StringArrayVar(&tags, "tag", nil, "tag of a tool or a hook; may be given several times")
	cmd.AddCommand(invalidate)
	return app.Group(cmd)
}
