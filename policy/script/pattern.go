package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// rest, as the last word of a pattern, matches any further words of a command.
const rest = "*"

// builtin are the commands that bash or POSIX build into the shell, except cd, echo, false, pwd, true and :, which cannot run their
// arguments as code. The listed commands can run their arguments, change what later words mean, or evaluate arguments that look like plain
// text: in bash, test -v 'a[$(x)]' and printf -v 'a[$(x)]' y run x. A pattern for such a command would not say what the command runs.
var builtin = []string{
	".", "[", "alias", "bg", "bind", "break", "builtin", "caller", "command", "compgen", "complete", "compopt", "continue", "declare", "dirs",
	"disown", "enable", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout",
	"mapfile", "popd", "printf", "pushd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
	"times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
}

// Pattern matches commands by all their words, or by their first words if it ends with *.
type Pattern struct {
	words  []string
	prefix bool
}

// ParsePattern reads a pattern: words with one space between them. Each word has letters, digits and the characters of bareSymbols.
// The last word may be *, which matches any number of words, also none. An error says what is wrong.
func ParsePattern(text string) (Pattern, error) {
	words := strings.Split(text, " ")
	p := Pattern{words: words}
	if last := len(words) - 1; words[last] == rest {
		p.words, p.prefix = words[:last], true
	}
	switch {
	case text == "":
		return Pattern{}, errors.New("is empty")
	case len(p.words) == 0:
		return Pattern{}, errors.New("names no command; a rule for every script needs none of this, but an approval")
	case strings.ContainsAny(p.words[0], "=*"):
		return Pattern{}, errors.New("must begin with the name of a command")
	case slices.Contains(builtin, p.words[0]):
		return Pattern{}, fmt.Errorf("names %s of the shell, which can run any command; only cd, echo, false, pwd, true and : of the shell can be named", p.words[0])
	}
	for _, w := range p.words {
		if w == "" || strings.ContainsFunc(w, isSpecial) {
			return Pattern{}, errors.New("must be words of letters, digits and _-./:=@%+, with one space between them, and * only as the last word")
		}
	}
	return p, nil
}

// Matches reports whether the pattern matches the words of a command.
func (p Pattern) Matches(words []string) bool {
	if len(words) < len(p.words) || !p.prefix && len(words) > len(p.words) {
		return false
	}
	return slices.Equal(words[:len(p.words)], p.words)
}

// Covers reports whether a script is plain and some pattern matches each of its commands.
func Covers(patterns []Pattern, script string) bool {
	commands, ok := Plain(script)
	return ok && !slices.ContainsFunc(commands, func(words []string) bool {
		return !slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(words) })
	})
}
