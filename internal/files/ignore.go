package files

import (
	"bytes"
	"io"
	"math"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// ignoreRules are the rules of the ignore files of one directory, and of those above it.
type ignoreRules struct {
	above *ignoreRules
	dir   string
	// files are the rules by source. A rule of an earlier source wins over the rules of later sources,
	// in any directory. Within a source, the deeper directory wins, and within a file the last line.
	files [ignoreSources][]ignoreRule
	// repository says that git's rules of the directories above do not hold here.
	repository bool
}

// The sources of rules.
const (
	ignoreFile = iota
	gitignoreFile
	gitExclude
	ignoreSources
)

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	pattern  string
	match    func(pattern, s string) bool
	byPath   bool // the pattern is for paths below the directory, not for names
	dirsOnly bool
	negated  bool
}

// ignores reports whether name in the directory dir is ignored. dir is the directory of r or below it.
func (r *ignoreRules) ignores(dir, name string, isDir bool) bool {
	full := ""
	for source := range ignoreSources {
		for at := r; at != nil; at = at.above {
			rules := at.files[source]
			for i := len(rules) - 1; i >= 0; i-- {
				rule := &rules[i]
				if rule.dirsOnly && !isDir {
					continue
				}
				s := name
				if rule.byPath {
					if full == "" {
						full = join(dir, name)
					}
					s = relative(at.dir, full)
				}
				if rule.match(rule.pattern, s) {
					return !rule.negated
				}
			}
			if at.repository && source != ignoreFile {
				break
			}
		}
	}
	return false
}

// rulesAbove reads the rules of the directories above dir.
func (k *walk) rulesAbove(dir string) (rules *ignoreRules) {
	for i, c := range "./" + dir {
		if c != '/' || dir == "." {
			continue
		}
		above := strings.TrimPrefix(("./" + dir)[:i], "./")
		h, err := openHandle(k.root, above)
		if err != nil {
			continue // this directory cannot be read, and the directories below it still can
		}
		var entries []dirent
		for _, name := range []string{".ignore", ".gitignore", ".git"} {
			if e, err := h.stat(name); err == nil {
				entries = append(entries, dirent{name, e.Type})
			}
		}
		rules = k.rulesOf(h, above, rules, entries)
		h.close()
	}
	return rules
}

// rulesOf reads the rules of the directory h, which has entries, and puts them before those above it.
// An ignore file that cannot be read has no rules, as for git.
func (k *walk) rulesOf(h handle, path string, above *ignoreRules, entries []dirent) *ignoreRules {
	own := &ignoreRules{above: above, dir: path}
	for _, e := range entries {
		switch {
		case e.name == ".ignore" && e.typ == capability.TypeFile:
			own.files[ignoreFile] = k.readRules(h.openFile(k.ctx, e.name, k.fault))
		case e.name == ".gitignore" && e.typ == capability.TypeFile:
			own.files[gitignoreFile] = k.readRules(h.openFile(k.ctx, e.name, k.fault))
		case e.name == ".git":
			own.repository = true
			if e.typ == capability.TypeDir {
				own.files[gitExclude] = k.excludeRules(join(path, ".git/info/exclude"))
			}
		default:
			continue
		}
		above = own
	}
	return above
}

func (k *walk) excludeRules(path string) []ignoreRule {
	f, e, err := k.Open(k.ctx, path, math.MaxInt64)
	return k.readRules(f, e.Size, err)
}

func (k *walk) readRules(f io.ReadCloser, _ int64, err error) (rules []ignoreRule) {
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, capability.MaxIgnoreFile))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if rule, ok := parseRule(string(line)); ok {
			rules = append(rules, rule)
		}
	}
	k.rules.Add(int64(len(rules)))
	return rules
}

// parseRule reads a line as git does. It reports false for a comment, and for a pattern that can match
// nothing.
func parseRule(line string) (r ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirsOnly = strings.CutSuffix(line, "/")
	r.byPath = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if rest, everywhere := strings.CutPrefix(line, "**/"); everywhere && !strings.Contains(rest, "/") {
		line, r.byPath = rest, false
	}
	if line == "" {
		return r, false
	}
	suffix, starred := strings.CutPrefix(line, "*")
	switch {
	case !strings.ContainsAny(line, `*?[\`):
		r.pattern, r.match = line, func(pattern, s string) bool { return pattern == s }
	case starred && !r.byPath && !strings.ContainsAny(suffix, `*?[\`):
		r.pattern, r.match = suffix, func(pattern, s string) bool { return strings.HasSuffix(s, pattern) }
	default:
		r.pattern, r.match = escapeBraces(line), doublestar.MatchUnvalidated
		if strings.HasSuffix(r.pattern, "/**") {
			r.pattern += "/*" // what is in the directory, and not the directory
		}
		if len(r.pattern) > maxGlob || !doublestar.ValidatePattern(r.pattern) {
			return r, false
		}
	}
	return r, true
}

// escapeBraces makes braces plain characters, as they are for git.
func escapeBraces(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, c := range []byte(pattern) {
		if !escaped && (c == '{' || c == '}') {
			b.WriteByte('\\')
		}
		escaped = c == '\\' && !escaped
		b.WriteByte(c)
	}
	return b.String()
}
