package policy

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Pattern is an exact text, or a prefix followed by one `*`. A lone `*` matches every text.
type Pattern string

// everyTool is the pattern that matches every tool.
const everyTool Pattern = "*"

// Matches reports whether s is the text or begins with the prefix. The comparison is
// case-sensitive.
func (p Pattern) Matches(s string) bool {
	if last := len(p) - 1; last >= 0 && p[last] == '*' {
		return len(s) >= last && s[:last] == string(p[:last])
	}
	return s == string(p)
}

// quoted returns the pattern for use within a sentence.
func (p Pattern) quoted() string {
	if prefix, glob := strings.CutSuffix(string(p), "*"); glob && toolspec.Quoted(prefix) == prefix {
		return string(p)
	}
	return toolspec.Quoted(string(p))
}

func matchesAny(patterns []Pattern, s string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(s) })
}
