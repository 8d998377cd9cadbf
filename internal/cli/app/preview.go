package app

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/postgres/reads"
)

// PrintPreview prints the preview of a request, or why it has none. It prints at most the given number
// of lines of the preview; 0 means all. Labels are padded to width characters.
func (a *App) PrintPreview(r reads.Approval, width, lines int) {
	p := r.Preview
	if p == nil {
		return
	}
	if r.PreviewDigest != "" {
		fmt.Fprintf(a.Out, "  %-*s  %s\n", width, "preview", r.PreviewDigest)
	}
	if p.Missing != "" {
		fmt.Fprintf(a.Out, "  %-*s  none: %s\n", width, "preview", OneLine(p.Missing, 300))
		return
	}
	all := strings.Split(strings.TrimSuffix(Printable(p.Text), "\n"), "\n")
	shown := all
	if lines > 0 && len(all) > lines {
		shown = all[:lines]
	}
	for _, line := range shown {
		fmt.Fprintf(a.Out, "    %s\n", line)
	}
	switch {
	case len(shown) < len(all):
		fmt.Fprintf(a.Out, "    ... %d more lines: `pawl show %s`\n", len(all)-len(shown), r.ApprovalID)
	case p.Truncated:
		fmt.Fprintf(a.Out, "    ... cut: the whole preview has %d bytes\n", p.Bytes)
	}
}
