package outputs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
)

func newList(a *app.App) *cobra.Command {
	var run bool
	cmd := &cobra.Command{
		Use: "list ID", Short: "List the stored outputs of a call or of a run, newest first",
		Long: "List the stored outputs of a call, newest first, with those that a tool is writing. ID is as in `pawl show`; with\n" +
			"--run it is a run. `pawl output get REF --follow` prints an output while a tool writes it. Lists 500 at most.",
		Args: app.ExactArgs(1, "an id; `pawl list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) (err error) {
				var found []client.OutputRecord
				if run {
					found, err = s.Store.OutputsOfRun(cmd.Context(), a.Tenant, args[0])
				} else {
					var call client.CallRecord
					call, err = s.FindCall(cmd.Context(), a.Tenant, args[0])
					found = call.Outputs
				}
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("%s has no stored outputs", app.OneLine(args[0], 100))
				return app.PrintRows(a, found, nothing, []string{"BEGUN", "TOOL", "STATE", "BYTES", "MEDIA TYPE", "OUTPUT"}, func(o client.OutputRecord) []string {
					return []string{app.FormatTime(o.CreatedAt), o.ToolID, o.State, fmt.Sprint(o.Bytes), app.OneLine(o.MediaType, 60), o.Ref}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&run, "run", false, "ID is a run: list the outputs of its calls")
	return cmd
}
