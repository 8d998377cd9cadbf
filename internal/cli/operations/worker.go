package operations

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/worker"
)

func newWorker(a *app.App) *cobra.Command {
	var policyFile, workspace string
	var apply bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker until it gets SIGINT or SIGTERM",
		Long: "Run a worker. It finds Temporal by the TEMPORAL_* variables and Postgres by PAWL_DATABASE_URL, or uses the\n" +
			"servers of a `pawl dev` in this directory. It waits while they do not answer. Run `pawl migrate up` first.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := worker.LoadConfig()
			if err != nil {
				return err
			}
			if policyFile != "" {
				c.PolicyFile = policyFile
			}
			if workspace != "" {
				c.Workspace = workspace
			}
			if err := worker.CheckVariables(os.Environ()); err != nil {
				return err
			}
			c.ApplyPolicy = apply
			return worker.Run(cmd.Context(), c, a.Worker...)
		},
	}
	cmd.Flags().StringVar(&policyFile, "policy", "", "policy file, applied if no policy is active (PAWL_POLICY)")
	cmd.Flags().BoolVar(&apply, "apply-policy", false, "make the policy file the active policy")
	cmd.Flags().StringVar(&workspace, "workspace", "", "directory that file tools see, also with {tenant} and {run} in it (PAWL_WORKSPACE); default the working directory")
	return cmd
}
