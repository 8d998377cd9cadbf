package mcp

import (
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
)

// alike maps characters to what they look like. Characters that separate words map to nothing.
var alike = strings.NewReplacer(
	"0", "o", "1", "l", "i", "l", "|", "l", "5", "s", "rn", "m", "vv", "w", "_", "", "-", "", ".", "", " ", "", "/", "",
	// Cyrillic and Greek letters that look like Latin letters.
	"а", "a", "с", "c", "е", "e", "о", "o", "р", "p", "х", "x", "у", "y", "ѕ", "s", "і", "l", "ј", "j", "ԁ", "d", "һ", "h", "ո", "n", "ο", "o", "ν", "v", "α", "a", "ι", "l", "κ", "k", "ρ", "p", "τ", "t", "υ", "u",
)

// skeleton returns what a name looks like: names with the same skeleton are easy to confuse.
func skeleton(name string) string {
	return alike.Replace(strings.ToLower(strings.Map(func(r rune) rune {
		if toolspec.Invisible(r) {
			return -1
		}
		return r
	}, name)))
}

// imitates says why the name of a tool could be taken for another tool, or "". others are the names of the
// other tools of the server.
func imitates(name string, others map[string]int) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "core__") || strings.HasPrefix(lower, "core-") || strings.HasPrefix(lower, "mcp__"):
		return "it begins like the id of another tool"
	case strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || toolspec.Invisible(r) }):
		return "it has characters that are not ASCII"
	case others[skeleton(name)] > 1:
		return "it looks like the name of another tool of the server"
	}
	return ""
}

// skeletons counts the skeletons of names.
func skeletons(definitions []definition) map[string]int {
	count := map[string]int{}
	for _, d := range definitions {
		count[skeleton(d.Name)]++
	}
	return count
}
