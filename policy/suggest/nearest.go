package suggest

import (
	"slices"
	"strings"
)

// Nearest returns the known name that is most similar to the written one, or "" if none is
// similar. Among equally similar names, the first in alphabetical order wins.
func Nearest(written string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	best, fewest := "", max(1, len([]rune(written))/3)+1
	for _, name := range known {
		if d := distance(fold(written), fold(name)); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// fold returns a form of the name that ignores case and separators.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// distance returns the minimum number of edits that turn a into b. An edit changes, inserts or
// removes a character, or swaps it with its neighbour.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			cost := 1
			if from[i-1] == to[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}
