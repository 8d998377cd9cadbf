package outputs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/output"
)

// Commands returns the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	cmd := &cobra.Command{Use: "output", Short: "List, read, search and delete stored outputs of calls"}
	cmd.AddCommand(newList(a), newGet(a), newGrep(a), newDelete(a))
	return []*cobra.Command{app.Group(cmd)}
}

// explain says what to do if an output does not exist.
func explain(a *app.App, ref string, err error) error {
	if errors.Is(err, output.ErrNotFound) {
		return fmt.Errorf("tenant %s has no output %q; `pawl output list CALL` shows the references of a call", a.Tenant, app.OneLine(ref, 100))
	}
	return err
}
