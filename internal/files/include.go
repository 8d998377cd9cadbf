package files

import (
	"path"
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

// include is a checked glob; empty, it matches everything.
type include struct {
	pattern string
	byName  bool
}

func newInclude(pattern string) (include, error) {
	if len(pattern) > maxGlob || alternatives(pattern) > maxAlternatives || !doublestar.ValidatePattern(pattern) {
		return include{}, capability.ErrBadPattern
	}
	return include{pattern: pattern, byName: !strings.Contains(pattern, "/")}, nil
}

func (i include) everything() bool { return i.pattern == "" }

func (i include) matches(p string) bool {
	if i.everything() {
		return true
	}
	if i.byName {
		p = path.Base(p)
	}
	return doublestar.MatchUnvalidated(i.pattern, p)
}

// alternatives bounds from above how many plain patterns the braces stand for.
// It takes escaped braces for real ones.
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
