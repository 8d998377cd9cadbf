package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// printable keeps text of callers and tools from speaking to the terminal:
// control and bidirectional characters are shown as what they are.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// oneLine is printable text without line breaks, cut at n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// indented shows JSON for reading.
func indented(raw json.RawMessage, prefix string) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return printable(string(raw))
	}
	out, err := json.MarshalIndent(v, prefix, "  ")
	if err != nil {
		return printable(string(raw))
	}
	return printable(string(out))
}

// table aligns rows under headings.
func table(w io.Writer, prefix string, headings []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, prefix+strings.Join(headings, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell, 100)
		}
		fmt.Fprintln(tw, prefix+strings.Join(cells, "\t"))
	}
	_ = tw.Flush()
}

func micros(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(10 * time.Microsecond).String()
}

func clockTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
