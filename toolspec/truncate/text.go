package truncate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Marker stands where a text was cut.
const Marker = "... [truncated]"

// Text returns the first room bytes of a text, or the last room bytes if tail is true, with a note
// that the text was cut. It cuts at a line end if the part that it keeps then has at least half of
// room, and otherwise between two characters. ref names the whole text; see Value.Short.
func Text(text string, room int, tail bool, ref string) string {
	if len(text) <= room {
		return text
	}
	if tail {
		shown := lastLines(text, room)
		return fmt.Sprintf("%s the last %d of %d bytes are shown; %s\n%s", Marker, len(shown), len(text), more(ref), shown)
	}
	shown := firstLines(text, room)
	between := "\n"
	if shown == "" || strings.HasSuffix(shown, "\n") {
		between = ""
	}
	return fmt.Sprintf("%s%s%s the first %d of %d bytes are shown; %s", shown, between, Marker, len(shown), len(text), more(ref))
}

// Cut returns the beginning of a text, of at most room bytes, cut between two characters.
func Cut(text string, room int) string {
	if len(text) <= room {
		return text
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room]
}

func firstLines(text string, room int) string {
	shown := Cut(text, room)
	if end := strings.LastIndexByte(shown, '\n') + 1; end >= room/2 && end > 0 {
		return shown[:end]
	}
	return shown
}

func lastLines(text string, room int) string {
	start := len(text) - room
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	if text[start-1] == '\n' {
		return text[start:]
	}
	if end := strings.IndexByte(text[start:], '\n') + 1; end > 0 && len(text)-start-end >= room/2 {
		return text[start+end:]
	}
	return text[start:]
}

// splitPath returns the members of a JSON pointer through objects.
func splitPath(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(pointer[1:], "/")
	for i, name := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	return path
}
