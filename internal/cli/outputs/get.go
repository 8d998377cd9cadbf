package outputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// The first and the longest pause between two reads of an output that is being written.
const (
	followFirst = 200 * time.Millisecond
	followMost  = 2 * time.Second
)

type getFlags struct {
	offset, limit       int64
	bytes, pointer, out string
	follow              bool
}

func newGet(a *app.App) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use: "get REF", Short: "Print a stored output",
		Long: "Print a stored output: all of it, lines of it, bytes of it, or the value at a JSON pointer. A text is printed\n" +
			"without characters that could control the terminal; --out writes the bytes as they are stored. --json\n" +
			"describes the output, or prints the lines that --offset, --limit or --pointer select.",
		Args: app.ExactArgs(1, "REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, a); err != nil {
				return app.Usage(err)
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				return explain(a, args[0], f.get(cmd.Context(), a, s.Store, args[0]))
			})
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.offset, "offset", 0, "first line, counted from 1")
	flags.Int64Var(&f.limit, "limit", 0, "print at most this many lines")
	flags.StringVar(&f.bytes, "bytes", "", "print bytes A:B, from offset A up to B; either may be left out")
	flags.StringVar(&f.pointer, "pointer", "", "print the value at a JSON pointer, such as /items/3")
	flags.StringVar(&f.out, "out", "", "write the output into a new file")
	flags.BoolVar(&f.follow, "follow", false, "print the output while the tool writes it, until it is complete")
	return cmd
}

func (f *getFlags) lines() bool { return f.offset > 0 || f.limit > 0 || f.pointer != "" }

func (f *getFlags) check(cmd *cobra.Command, a *app.App) error {
	switch {
	case cmd.Flags().Changed("offset") && f.offset < 1, cmd.Flags().Changed("limit") && f.limit < 1:
		return errors.New("--offset and --limit are at least 1")
	case f.lines() && (f.bytes != "" || f.out != "" || f.follow):
		return errors.New("--offset, --limit and --pointer do not go with --bytes, --out or --follow")
	case f.follow && (f.bytes != "" || a.JSON):
		return errors.New("--follow does not go with --bytes or --json")
	case a.JSON && (f.bytes != "" || f.out != ""):
		return errors.New("--json does not go with --bytes or --out")
	}
	_, _, err := f.span()
	return err
}

// span returns the two offsets of --bytes. to is -1 if the flag has no second offset.
func (f *getFlags) span() (from, to int64, err error) {
	if f.bytes == "" {
		return 0, -1, nil
	}
	first, last, found := strings.Cut(f.bytes, ":")
	to = -1
	if first != "" {
		from, err = strconv.ParseInt(first, 10, 64)
	}
	if err == nil && last != "" {
		to, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil || !found || from < 0 || last != "" && to < from {
		return 0, 0, errors.New("--bytes is A:B, two offsets of which A is not behind B")
	}
	return from, to, nil
}

func (f *getFlags) get(ctx context.Context, a *app.App, r output.Reader, ref string) error {
	if f.lines() {
		return f.printLines(ctx, a, r, ref)
	}
	info, err := r.Info(ctx, a.Tenant, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, info)
	}
	from, to, err := f.span()
	if err != nil {
		return err
	}
	if f.out == "" {
		text := &printer{w: a.Out}
		if err := f.copy(ctx, a, r, info, from, to, text); err != nil {
			return err
		}
		return text.end()
	}
	file, err := os.OpenFile(f.out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.copy(ctx, a, r, info, from, to, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(f.out))
	}
	return nil
}

// copy writes the bytes of an output from the offset from up to the offset to, or to its end if to is negative. With
// --follow it continues until the tool has completed the output.
func (f *getFlags) copy(ctx context.Context, a *app.App, r output.Reader, info output.Info, from, to int64, w io.Writer) error {
	pause := followFirst
	for {
		closer := read.NewReader(ctx, r, info.TenantID, info.Ref, from)
		in := io.Reader(closer)
		if to >= 0 {
			in = io.LimitReader(in, to-from)
		}
		n, err := io.Copy(w, in)
		_ = closer.Close() // it returns nil
		if err != nil || !f.follow || info.Complete {
			return err
		}
		if from += n; n > 0 {
			pause = followFirst
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(pause*2, followMost)
		// If the output is complete now, the loop reads it once more: the tool may have written more since the last read.
		if info, err = r.Info(ctx, a.Tenant, info.Ref); err != nil {
			return err
		}
	}
}

// printedLine is a line in JSON.
type printedLine struct {
	Line  int64  `json:"line"`
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"`
	Match bool   `json:"match,omitempty"`
}

// printLines prints the lines of the window, page by page.
func (f *getFlags) printLines(ctx context.Context, a *app.App, r output.Reader, ref string) error {
	text, err := read.Open(ctx, r, a.Tenant, ref, f.pointer)
	if err != nil {
		return err
	}
	var all []read.Line
	for w := (read.Window{Offset: f.offset, Limit: f.limit}); ; {
		page, err := text.Lines(w)
		if err != nil {
			return err
		}
		if a.JSON {
			all = append(all, page.Lines...)
		} else {
			for _, l := range page.Lines {
				fmt.Fprintln(a.Out, lineText(l))
			}
		}
		w.Offset = page.Next
		if w.Limit > 0 {
			w.Limit -= int64(len(page.Lines))
		}
		if page.Next == 0 || f.limit > 0 && w.Limit == 0 {
			break
		}
	}
	if a.JSON {
		return app.PrintJSON(a.Out, inJSON(all))
	}
	return nil
}

func lineText(l read.Line) string {
	text := app.Printable(string(l.Text))
	if l.Cut {
		text += " … [line cut]"
	}
	return text
}

func inJSON(lines []read.Line) []printedLine {
	printed := make([]printedLine, len(lines))
	for i, l := range lines {
		printed[i] = printedLine{l.Number, string(l.Text), l.Cut, l.Match}
	}
	return printed
}

// printer writes a text without characters that could control a terminal.
type printer struct {
	w io.Writer
	// held has the first bytes of a character whose other bytes have not come yet.
	held []byte
	last byte
}

// Write implements io.Writer.
func (p *printer) Write(text []byte) (int, error) {
	all := slices.Concat(p.held, text)
	whole := read.WholeRunes(all)
	if _, err := io.WriteString(p.w, app.Printable(string(all[:whole]))); err != nil {
		return 0, err
	}
	if whole > 0 {
		p.last = all[whole-1]
	}
	p.held = append([]byte(nil), all[whole:]...)
	return len(text), nil
}

// end writes the held bytes, and a newline if the text does not end with a newline.
func (p *printer) end() error {
	if len(p.held) > 0 {
		p.last = 0
	}
	rest := app.Printable(string(p.held))
	if p.last != '\n' {
		rest += "\n"
	}
	_, err := io.WriteString(p.w, rest)
	return err
}
