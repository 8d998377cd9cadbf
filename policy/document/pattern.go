package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Pattern is an exact text, or a prefix followed by one `*`. A lone `*` matches every text.
type Pattern string

// EveryTool is the pattern that matches every tool.
const EveryTool Pattern = "*"

// Matches reports whether s is the text or begins with the prefix. The comparison is
// case-sensitive.
func (p Pattern) Matches(s string) bool {
	if last := len(p) - 1; last >= 0 && p[last] == '*' {
		return len(s) >= last && s[:last] == string(p[:last])
	}
	return s == string(p)
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// CheckTool returns an error if no id of a tool matches p. A prefix is valid if an id can begin with it.
func (p Pattern) CheckTool() error {
	prefix, glob := strings.CutSuffix(string(p), "*")
	switch err := toolspec.CheckToolID(string(p)); {
	case strings.Contains(prefix, "*"):
		return errors.New("* may stand only at the end")
	case !glob && err != nil:
		return fmt.Errorf("a tool id %w", err)
	case glob && strings.Trim(prefix, idCharacters) != "":
		return errors.New("a tool id may hold only letters, digits, '_' and '-'")
	}
	return nil
}

// Quoted returns the pattern for use within a sentence.
func (p Pattern) Quoted() string {
	if prefix, glob := strings.CutSuffix(string(p), "*"); glob && toolspec.Quoted(prefix) == prefix {
		return string(p)
	}
	return toolspec.Quoted(string(p))
}

// MatchesAny reports whether one of the patterns matches s.
func MatchesAny(patterns []Pattern, s string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(s) })
}

// Covers reports whether p matches every text that other matches.
func (p Pattern) Covers(other Pattern) bool {
	prefix, glob := strings.CutSuffix(string(other), "*")
	if !glob {
		return p.Matches(string(other))
	}
	own, all := strings.CutSuffix(string(p), "*")
	return all && strings.HasPrefix(prefix, own)
}

// Overlaps reports whether some text matches both patterns.
func (p Pattern) Overlaps(other Pattern) bool {
	own, all := strings.CutSuffix(string(p), "*")
	prefix, glob := strings.CutSuffix(string(other), "*")
	switch {
	case all && glob:
		return strings.HasPrefix(own, prefix) || strings.HasPrefix(prefix, own)
	case all:
		return p.Matches(string(other))
	}
	return other.Matches(string(p))
}
