package files

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of a glob. doublestar tries every combination of {a,b} in turn, which
// a short pattern can drive beyond any timeout.
const (
	maxGlob         = 256
	maxAlternatives = 64
)

// glob is a checked pattern. An empty glob matches everything.
type glob struct {
	pattern string
	byName  bool
}

func newGlob(pattern string) (glob, error) {
	if len(pattern) > maxGlob || alternatives(pattern) > maxAlternatives || !doublestar.ValidatePattern(pattern) {
		return glob{}, capability.ErrBadPattern
	}
	return glob{pattern: pattern, byName: !strings.Contains(pattern, "/")}, nil
}

func (g glob) everything() bool { return g.pattern == "" }

// matches reports whether the pattern matches name in the directory dir, which is base or below it.
func (g glob) matches(base, dir, name string) bool {
	switch {
	case g.everything():
		return true
	case g.byName:
		return doublestar.MatchUnvalidated(g.pattern, name)
	default:
		return doublestar.MatchUnvalidated(g.pattern, relative(base, join(dir, name)))
	}
}

// relative returns p relative to base, a directory above it.
func relative(base, p string) string {
	if base == "." {
		return p
	}
	return strings.TrimPrefix(p, base+"/")
}

// alternatives returns the number of plain patterns that the braces stand for, or a larger number:
// it takes escaped braces for real ones.
func alternatives(pattern string) int {
	total := 1
	var open []int
	for _, c := range pattern {
		switch {
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			total *= open[len(open)-1]
			open = open[:len(open)-1]
		}
		if total > maxAlternatives {
			return total
		}
	}
	return total
}
