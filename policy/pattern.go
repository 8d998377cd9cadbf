package policy

import "slices"

// Pattern is an exact text, or a prefix followed by one `*`. A lone `*` is
// every text.
type Pattern string

// everyTool is the pattern of all.
const everyTool Pattern = "*"

// Matches reports whether s is the text, or begins with the prefix. Letters of
// different case are different.
func (p Pattern) Matches(s string) bool {
	if last := len(p) - 1; last >= 0 && p[last] == '*' {
		return len(s) >= last && s[:last] == string(p[:last])
	}
	return s == string(p)
}

func matchesAny(patterns []Pattern, s string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(s) })
}
