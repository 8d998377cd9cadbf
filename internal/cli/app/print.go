package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
)

// Printable escapes characters that could control the terminal or hide text: control,
// bidirectional and invisible characters. Texts of callers and tools may contain them. The
// escapes are those of JSON, so that JSON keeps its meaning.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// OneLine returns printable text without line breaks, cut at n characters.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// PrintJSON prints v as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, Printable(string(out)))
	return err
}

// FormatJSON returns raw as indented, printable JSON. It does not change the notation of numbers.
// It returns text that is not JSON as printable text.
func FormatJSON(raw json.RawMessage, prefix string) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, prefix, "  ") != nil {
		return Printable(string(raw))
	}
	return Printable(out.String())
}

// PrintTable prints aligned rows under headings. It cuts each cell at 100 characters.
func PrintTable(w io.Writer, prefix string, headings []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, prefix+strings.Join(headings, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = OneLine(cell, 100)
		}
		fmt.Fprintln(tw, prefix+strings.Join(cells, "\t"))
	}
	_ = tw.Flush()
}

// FormatTime formats a time in the local zone, to the second.
func FormatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// FormatUntil returns a phrase that says how long something is valid, such as "until 2026-11-01 12:00:00". If
// expiresAt is nil, it has no end.
func FormatUntil(expiresAt *time.Time, expired bool) string {
	switch {
	case expiresAt == nil:
		return "for good"
	case expired:
		return "no longer, ended " + FormatTime(*expiresAt)
	}
	return "until " + FormatTime(*expiresAt)
}
