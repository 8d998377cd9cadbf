package toolspec

import (
	"fmt"
	"strings"
)

// Truncation says what a part of a tool's value is, so that Pawl shortens it as such. The result,
// the record and the model get the shortened value, and the whole is stored.
type Truncation struct {
	// Path is a JSON pointer to a text or a list in the output, through objects only; empty is the
	// whole value.
	Path string `json:"path"`
	// As is the content at Path.
	As Content `json:"as"`
}

// Content is a content that has limits of its own. Sizes are those of the text in bytes; a KiB has
// 1024 bytes. A content of exactly the limit is not shortened.
type Content string

// The contents with limits.
const (
	// FileContents is a text: above 10 KiB, its first 5 KiB are shown.
	FileContents Content = "file_contents"
	// Listing is a list: above 1 000 elements, the first 500 and the count are shown.
	Listing Content = "listing"
	// SearchResults is a list: above 100 elements, the first 50 and the count are shown.
	SearchResults Content = "search_results"
	// ShellOutput is a text: above 10 KiB, its last 5 KiB are shown.
	ShellOutput Content = "shell_output"
)

// Limits returns the size above which a content is shortened, and the size that is shown of it: in
// bytes for texts, in elements for lists. tail says that its end is shown. ok is false if there is no
// such content.
func (c Content) Limits() (most, shown int, list, tail, ok bool) {
	switch c {
	case FileContents:
		return 10 << 10, 5 << 10, false, false, true
	case ShellOutput:
		return 10 << 10, 5 << 10, false, true, true
	case Listing:
		return 1000, 500, true, false, true
	case SearchResults:
		return 100, 50, true, false, true
	}
	return 0, 0, false, false, false
}

// maxTruncations bounds the truncations of a tool.
const maxTruncations = 8

func (d Definition) checkTruncate() error {
	if d.Stream != "" && len(d.Truncate) > 0 {
		return fmt.Errorf("truncate does not go with stream: the result has one outputRef, and the stream needs it")
	}
	if len(d.Truncate) > maxTruncations {
		return fmt.Errorf("truncate has %d entries, of at most %d", len(d.Truncate), maxTruncations)
	}
	for _, t := range d.Truncate {
		if _, _, _, _, ok := t.As.Limits(); !ok {
			return fmt.Errorf("truncate: %q is none of file_contents, listing, search_results, shell_output", string(t.As))
		}
		if t.Path != "" && !strings.HasPrefix(t.Path, "/") {
			return fmt.Errorf("truncate: path %q is not a JSON pointer: start it with /", t.Path)
		}
	}
	return nil
}
