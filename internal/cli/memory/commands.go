package memory

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Commands returns the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	cmd := &cobra.Command{Use: "memory", Short: "List, read, search, write and delete what tools keep for sessions"}
	cmd.AddCommand(newList(a), newShow(a), newSearch(a), newPut(a), newDelete(a))
	return []*cobra.Command{app.Group(cmd)}
}

// sessionFlags name a session.
type sessionFlags struct{ session, run string }

func (f *sessionFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.session, "session", "", "the session: context.sessionId of its calls")
	cmd.Flags().StringVar(&f.run, "run", "", "the run, for the calls of a run without a session")
}

// name returns the name of the session, or "" without a flag.
func (f *sessionFlags) name() (string, error) {
	switch {
	case f.session != "" && f.run != "":
		return "", app.Usage(errors.New("give --session or --run, and not both"))
	case f.session != "":
		return capability.SessionName(f.session), nil
	case f.run != "":
		return capability.RunName(f.run), nil
	}
	return "", nil
}

// required returns the name of the session of --session or --run, or a usage error if neither flag is given.
func (f *sessionFlags) required() (string, error) {
	name, err := f.name()
	if err == nil && name == "" {
		err = app.Usage(errors.New("give --session or --run: `pawl memory list` shows the sessions"))
	}
	return name, err
}

// explain says what to do if an entry does not exist.
func explain(a *app.App, session, path string, err error) error {
	if errors.Is(err, capability.ErrNoMemory) {
		return fmt.Errorf("tenant %s has no entry %q in %s; `pawl memory list` shows the entries", a.Tenant, app.OneLine(path, 100), app.OneLine(session, 100))
	}
	return err
}
