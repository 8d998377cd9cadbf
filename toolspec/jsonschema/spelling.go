package jsonschema

import (
	"maps"
	"slices"
	"strings"
)

// misspelled returns the keyword of any draft that an unknown word was probably meant to be, or "".
// Only rules count, because a lost annotation changes no verdict. Keywords of other drafts count
// too: spelled correctly they are refused, and a typing error must not make a document valid for an
// older draft. Words of fewer than six letters may differ by one edit, and words of fewer than four
// letters by none: "form" and "note" are ordinary words.
func misspelled(word string) string {
	if len(word) > 40 {
		return ""
	}
	best, meant, folded := 3, "", foldName(word)
	for _, name := range sortedKeywords {
		if vocabulary[name].role == Annotates {
			continue
		}
		if folded == foldName(name) {
			return name // only case and separators differ
		}
		allowed := 2
		switch short := min(len(word), len(name)); {
		case short < 4:
			allowed = 0
		case short < 6:
			allowed = 1
		}
		if n := distance(word, name); n <= allowed && n < best {
			best, meant = n, name
		}
	}
	return meant
}

var sortedKeywords = slices.Sorted(maps.Keys(vocabulary))

// distance returns the number of letters to insert, delete, replace or swap with a neighbour to get
// from a to b. It does not distinguish distances above two.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	var before, last, row [48]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// foldName removes case and separators from a name.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
