package outputs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

type grepFlags struct {
	regex         bool
	before, after int
	most          int
	pointer       string
}

func newGrep(a *app.App) *cobra.Command {
	var f grepFlags
	cmd := &cobra.Command{
		Use: "grep REF PATTERN", Short: "Print the lines of a stored output that match",
		Long: "Print the lines of a stored output that hold a text, or with --regex match a regular expression in RE2 syntax,\n" +
			"as number:line. The status is 1 if no line matches.",
		Args: app.ExactArgs(2, "REF PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern, err := read.NewPattern(args[1], f.regex)
			if err != nil {
				return app.Usage(err)
			}
			if f.before < 0 || f.before > read.MaxContext || f.after < 0 || f.after > read.MaxContext || f.most < 0 {
				return app.Usage(fmt.Errorf("--before and --after are 0 to %d, and --max is not negative", read.MaxContext))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				return explain(a, args[0], f.grep(cmd.Context(), a, s.Store, args[0], pattern))
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.regex, "regex", false, "take the pattern for a regular expression")
	flags.IntVarP(&f.before, "before", "B", 0, "lines to print before each match")
	flags.IntVarP(&f.after, "after", "A", 0, "lines to print after each match")
	flags.IntVar(&f.most, "max", 0, "end after this many matches; 0 is no bound")
	flags.StringVar(&f.pointer, "pointer", "", "search the value at a JSON pointer, such as /items/3")
	return cmd
}

// errNoMatch is the error of a search that finds nothing.
var errNoMatch = errors.New("no line matches")

// grep prints matches page by page.
func (f *grepFlags) grep(ctx context.Context, a *app.App, r output.Reader, ref string, pattern read.Pattern) error {
	text, err := read.Open(ctx, r, a.Tenant, ref, f.pointer)
	if err != nil {
		return err
	}
	var all []read.Line
	matches, last := 0, int64(0)
	for q := (read.Query{Pattern: pattern, Before: f.before, After: f.after}); ; {
		if f.most > 0 {
			q.Most = min(f.most-matches, read.MaxMatches)
		}
		found, err := text.Grep(q)
		if err != nil {
			return err
		}
		for _, l := range found.Lines {
			if a.JSON {
				all = append(all, l)
				continue
			}
			if f.before+f.after > 0 && last > 0 && last+1 < l.Number {
				fmt.Fprintln(a.Out, "--")
			}
			mark := "-"
			if l.Match {
				mark = ":"
			}
			fmt.Fprintf(a.Out, "%d%s%s\n", l.Number, mark, lineText(l))
			last = l.Number
		}
		matches += found.Matches
		if found.Next == 0 || f.most > 0 && matches >= f.most {
			break
		}
		q = q.Continue(found)
	}
	if a.JSON {
		if err := app.PrintJSON(a.Out, inJSON(all)); err != nil {
			return err
		}
	}
	if matches == 0 {
		return app.Silent(errNoMatch)
	}
	return nil
}
