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

// fitToWidth cuts a line to at most limit columns, because a longer line would wrap, and the board could not move the
// cursor back to the beginning of it. It keeps the beginning of the line, or its end if end is set.
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
