package openapi

import (
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/toolspec/sanitize"
)

// Report says what of a document was imported.
type Report struct {
	Version string `json:"version"`
	Title   string `json:"title,omitempty"`
	// Operations counts the operations that were selected. Each is in Imported or in Skipped.
	// Excluded counts the others.
	Operations int        `json:"operations"`
	Excluded   int        `json:"excluded,omitempty"`
	Imported   []Imported `json:"imported"`
	// Skipped are the operations that could not be mapped, with the reason.
	Skipped []Finding `json:"skipped"`
	// Notes are the parts of imported operations that were left out or changed.
	Notes []Finding `json:"notes"`
	// Schemes are the security schemes of the document, as kinds of connections.
	Schemes []Scheme `json:"schemes,omitempty"`
}

// Imported is an operation with its tool.
type Imported struct {
	Operation string `json:"operation"`
	Pointer   string `json:"pointer"`
	ToolID    string `json:"toolId"`
}

// Finding is a reason with the place in the document, as a JSON pointer.
type Finding struct {
	Operation string `json:"operation,omitempty"`
	Pointer   string `json:"pointer"`
	Reason    string `json:"reason"`
}

// Scheme is a security scheme as the kind of a connection.
type Scheme struct {
	Name string `json:"name"`
	// Kind is a kind of a provider file, or empty if none fits.
	Kind   string `json:"kind,omitempty"`
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// oneLine returns a text of the document as one line of at most limit bytes.
func oneLine(text string, limit int) string {
	return clip(strings.Join(strings.Fields(printable(text)), " "), limit)
}

// printable leaves out characters that are not seen, except line breaks, and breaks markers of chat formats.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t', r == '\r', unicode.Is(unicode.Zs, r):
			return ' '
		case r == unicode.ReplacementChar, !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text, _ = sanitize.Text(text)
	return text
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
