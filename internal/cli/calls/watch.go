package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

func newWatch(a *app.App) *cobra.Command {
	var after int64
	var until bool
	cmd := &cobra.Command{
		Use:   "watch RUN",
		Short: "Watch the calls of a run as they happen",
		Long: "Watch the calls of a run as they happen, until Ctrl-C. A terminal shows one line for each call, which changes while the call runs. " +
			"Other outputs get one line for each event, and --json prints each event as a line of JSON. The run need not have begun.",
		Args: app.ExactArgs(1, "the id of a run; `pawl list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				return watch(cmd.Context(), a, s, args[0], after, until)
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "show only the events after this number")
	cmd.Flags().BoolVar(&until, "until-done", false, "end at the end of a model's turn")
	return cmd
}

// tick is how often a terminal shows the time of the calls that run.
const tick = time.Second

// watch prints the events of a run until ctx ends, or with untilDone until a turn ends.
func watch(ctx context.Context, a *app.App, s *app.Session, run string, after int64, untilDone bool) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	events, failed := make(chan toolspec.RunEvent), make(chan error, 1)
	go func() {
		defer close(events)
		for e, err := range s.Client().Watch(watching, a.Tenant, run, after) {
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-watching.Done():
				return
			}
		}
	}()
	// The session is closed after the reader has ended.
	defer func() {
		cancel()
		for range events {
		}
	}()
	out, onTerminal := a.Out.(*os.File)
	onTerminal = onTerminal && !a.JSON && term.IsTerminal(int(out.Fd()))
	b := newBoard(a.Out, onTerminal)
	if onTerminal {
		b.size = func() (width, height int) {
			if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 && height > 0 {
				return width, height
			}
			return usualSize()
		}
		fmt.Fprintf(a.Err, "watching run %s of tenant %s; Ctrl-C ends\n", app.OneLine(run, 100), a.Tenant)
	}
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for {
		select {
		case <-clock.C:
			b.redraw(time.Now())
		case e, more := <-events:
			if !more {
				b.redraw(time.Now())
				select {
				case err := <-failed:
					return err
				default:
					return nil // a person has ended the command with Ctrl-C
				}
			}
			if a.JSON {
				if err := json.NewEncoder(a.Out).Encode(e); err != nil {
					return err
				}
			} else {
				b.show(e, time.Now())
			}
			if untilDone && e.Kind == toolspec.RunDone {
				return nil
			}
		}
	}
}
