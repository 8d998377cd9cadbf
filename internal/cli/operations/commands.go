package operations

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the commands that run and check Pawl.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newWorker(a), newMigrate(a), newDoctor(a), newCache(a), newVerifyHistory(a), newCodecServer(a), newServe(a), newReport(a), newVersion(a)}
}
