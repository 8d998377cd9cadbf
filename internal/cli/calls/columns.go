package calls

import (
	"slices"

	"golang.org/x/text/width"
)

// columns returns how many columns of a terminal a character takes.
func columns(r rune) int {
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// fitToWidth cuts a printable line to at most limit columns. It keeps the beginning of the line, or its end if end is set. A longer line
// would wrap, and the cursor could not be moved back to its beginning.
func fitToWidth(line string, limit int, end bool) string {
	total := 0
	for _, r := range line {
		total += columns(r)
	}
	if total <= limit {
		return line
	}
	all := []rune(line)
	if end {
		slices.Reverse(all)
	}
	n := 0
	for room := limit - 1; n < len(all) && columns(all[n]) <= room; n++ {
		room -= columns(all[n])
	}
	all = append(all[:n], '…')
	if end {
		slices.Reverse(all)
	}
	return string(all)
}
