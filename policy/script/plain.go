package script

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// MaxScript bounds a script that is parsed, in bytes. A longer one is not plain.
const MaxScript = 16 << 10

// maxCommands bounds the commands of a plain script.
const maxCommands = 64

// bareSymbols are the characters, besides letters and digits of ASCII, that mean nothing to a shell outside of quotes.
const bareSymbols = "_-./:=@%+,"

// Plain returns the commands of a script as lists of words, if the script is plain. A plain script has commands of plain words, joined by ;
// && || | and line ends, and each command has at least one word. A plain word has letters, digits and the characters of bareSymbols. It may
// have parts in single quotes, with all characters that can be printed except \, and parts in double quotes, with these characters except $
// and `. So a plain script has no expansion, substitution, redirection, assignment, pattern of file names, function, condition, loop,
// subshell, background or comment.
func Plain(script string) (commands [][]string, ok bool) {
	if len(script) > MaxScript || !utf8.ValidString(script) || strings.ContainsFunc(script, isOdd) {
		return nil, false
	}
	// The parser reads the syntax of bash, which has more special forms than other shells. So a word
	// that is plain in bash is plain in them too.
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if err != nil || len(file.Stmts) == 0 || len(file.Last) > 0 {
		return nil, false
	}
	for _, s := range file.Stmts {
		if commands, ok = appendPlain(commands, s); !ok || len(commands) > maxCommands {
			return nil, false
		}
	}
	return commands, true
}

// isOdd reports whether a character has no place in a plain script, wherever it stands.
func isOdd(r rune) bool { return r == '\\' || r != '\n' && !unicode.IsPrint(r) }

// appendPlain appends the commands of a statement, and reports whether the statement is plain as Plain says.
func appendPlain(commands [][]string, s *syntax.Stmt) ([][]string, bool) {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 || len(s.Comments) > 0 {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
			return nil, false
		}
		commands, ok := appendPlain(commands, c.X)
		if !ok {
			return nil, false
		}
		return appendPlain(commands, c.Y)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return nil, false
		}
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			text, ok := plainWord(w)
			if !ok {
				return nil, false
			}
			words[i] = text
		}
		return append(commands, words), true
	}
	return nil, false
}

// plainWord returns the text of a word without its quotes, and reports whether the word is plain as Plain says.
func plainWord(w *syntax.Word) (string, bool) {
	var text strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsFunc(p.Value, isSpecial) {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar || strings.Contains(p.Value, "\n") {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, quoted := range p.Parts {
				lit, ok := quoted.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "$`\"\n") {
					return "", false
				}
				text.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}

// isSpecial reports whether a character may mean something to a shell outside of quotes.
func isSpecial(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(bareSymbols, r)
}
