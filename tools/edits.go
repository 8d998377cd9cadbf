package tools

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// maxFound bounds the lines that an error names.
	maxFound = 10
	// maxCounted bounds the places that are counted for a text that should be in the file once. In a
	// file of one repeated letter, a text of this letter is at nearly every place.
	maxCounted = 100
)

// span is a part of a text and what takes its place.
type span struct {
	from, to int
	text     string
	edit     int // counted from 1
}

// applyEdits returns the text with all edits. It looks for each oldText in the original text.
func applyEdits(text string, edits []edit) (string, error) {
	var spans []span
	for i, e := range edits {
		oldText, newText := e.in(text)
		if oldText == newText {
			return "", toolspec.Safef("edit %d changes nothing: oldText and newText are the same", i+1)
		}
		found := findAll(text, oldText)
		if !e.ReplaceAll {
			found = findOverlapping(text, oldText)
		}
		switch {
		case len(found) == 0:
			return "", toolspec.Safef("edit %d: oldText was not found; the file is unchanged. Read the file again and copy the text exactly", i+1)
		case len(found) > 1 && !e.ReplaceAll:
			return "", toolspec.Safef("edit %d: oldText was found %s times, on lines %s; the file is unchanged. "+
				"Add lines around it to oldText, or set replaceAll", i+1, counted(found), lines(text, found))
		}
		for _, at := range found {
			spans = append(spans, span{at, at + len(oldText), newText, i + 1})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	copied := 0
	for i, s := range spans {
		if s.from < copied {
			return "", toolspec.Safef("edits %d and %d overlap on line %d; the file is unchanged. Make one edit of them",
				spans[i-1].edit, s.edit, 1+strings.Count(text[:s.from], "\n"))
		}
		if b.Len()+s.from-copied+len(s.text) > maxEdited {
			return "", toolspec.Safef("the edited file would have more than %d MiB; the file is unchanged", maxEdited>>20)
		}
		b.WriteString(text[copied:s.from])
		b.WriteString(s.text)
		copied = s.to
	}
	b.WriteString(text[copied:])
	if b.Len() > maxEdited {
		return "", toolspec.Safef("the edited file would have more than %d MiB; the file is unchanged", maxEdited>>20)
	}
	return b.String(), nil
}

// in returns the texts of the edit with the line ends of a file: models write \n.
func (e edit) in(file string) (oldText, newText string) {
	n := strings.Count(file, "\n")
	if n == 0 || n != strings.Count(file, "\r\n") {
		return e.OldText, e.NewText
	}
	crlf := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n") }
	return crlf(e.OldText), crlf(e.NewText)
}

// findAll returns the positions of part in the text. The positions that it returns do not overlap.
func findAll(text, part string) (found []int) {
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return found
		}
		found = append(found, from+i)
		from += i + len(part)
	}
}

// findOverlapping returns the positions of part in the text, also positions that overlap, up to
// maxCounted.
func findOverlapping(text, part string) (found []int) {
	for from := 0; len(found) < maxCounted; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return found
		}
		found = append(found, from+i)
		from += i + 1
	}
	return found
}

func counted(found []int) string {
	if len(found) >= maxCounted {
		return fmt.Sprintf("at least %d", len(found))
	}
	return strconv.Itoa(len(found))
}

// lines names the lines of places in a text.
func lines(text string, places []int) string {
	var b strings.Builder
	line, counted := 1, 0
	for i, at := range places[:min(len(places), maxFound)] {
		if i > 0 {
			b.WriteString(", ")
		}
		line, counted = line+strings.Count(text[counted:at], "\n"), at
		fmt.Fprint(&b, line)
	}
	if more := len(places) - maxFound; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// errPerhapsEdited is the answer of an attempt that cannot tell whether an earlier attempt, which was
// interrupted, has edited the file.
var errPerhapsEdited = toolspec.Safef("an earlier attempt of this call may have begun, and the file may have the edits already: read it, and edit again what is missing")

// mayBeEdited reports whether a text may have the edits already: every newText is in it. It may also have
// had these texts before, so an attempt that follows a lost one can neither edit again nor say that it has edited.
func mayBeEdited(text string, edits []edit) bool {
	return !slices.ContainsFunc(edits, func(e edit) bool {
		_, newText := e.in(text)
		return !strings.Contains(text, newText)
	})
}

// isText reports whether content is UTF-8 without NUL.
func isText(content []byte) bool { return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 }
