package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// dialect maps words that only this project would use to the words that engineers expect.
// A word belongs here only if it has no normal use in code. The words are lower-case and match
// whole words of an identifier, or of a comment or page.
var dialect = map[string]string{
	"elusive":  "name the property",
	"flew":     "ran",
	"flies":    "inFlight, or running",
	"flown":    "name the result",
	"heir":     "child, or successor",
	"herald":   "notifier",
	"leash":    "stdin, or the resource that ends the process",
	"mender":   "repairer",
	"obey":     "apply",
	"obeyed":   "applied",
	"obeys":    "applies",
	"patience": "timeout, or maxWait",
	"taker":    "name the role, such as claimant or client",
	"takers":   "name the role, such as claimants or clients",
}

// dialectNames are refused only in identifiers: in a sentence they can be plain English.
var dialectNames = map[string]string{
	"deaf":     "unresponsive, or name what is lost",
	"hear":     "receive, ask or add",
	"heard":    "received, asked or counted",
	"hearer":   "recorder, or notifier",
	"hears":    "receives, or asks",
	"seat":     "approver, vote or slot",
	"seats":    "approvers, votes or slots",
	"standing": "valid, current or registered",
	"stands":   "exists, isValid or hasX",
	"telling":  "name the action: notify, report, return",
	"tells":    "notifies, reports, returns or isX",
	"told":     "name the content: result, notified, rechecked",
	"whoever":  "name the role",
}

// pagesWithDialect may name the words: they explain which words the project does not use.
var pagesWithDialect = []string{"docs/glossary.md"}

var word = regexp.MustCompile(`[A-Za-z]+`)

// usesTheFieldsTerms refuses the words of dialect in identifiers, comments and pages. Test
// files count for identifiers only.
func usesTheFieldsTerms(t *tree) (found []violation) {
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.generated {
				continue
			}
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				for _, id := range declared(n) {
					found = append(found, t.dialectOf(id)...)
				}
				return true
			})
			if f.test {
				continue
			}
			for _, group := range f.syntax.Comments {
				for _, c := range group.List {
					for i, line := range strings.Split(c.Text, "\n") {
						at := t.fset.Position(c.Pos())
						found = append(found, wordsOf(line, fmt.Sprintf("%s:%d", at.Filename, at.Line+i))...)
					}
				}
			}
		}
	}
	for _, page := range t.pages {
		if slices.Contains(pagesWithDialect, page.path) {
			continue
		}
		for i, line := range strings.Split(page.text, "\n") {
			found = append(found, wordsOf(line, fmt.Sprintf("%s:%d", page.path, i+1))...)
		}
	}
	return found
}

// declared returns the identifiers that a node declares.
func declared(n ast.Node) (ids []*ast.Ident) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		ids = append(ids, n.Name)
	case *ast.TypeSpec:
		ids = append(ids, n.Name)
	case *ast.ValueSpec:
		ids = append(ids, n.Names...)
	case *ast.Field:
		ids = append(ids, n.Names...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok {
					ids = append(ids, id)
				}
			}
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

func (t *tree) dialectOf(id *ast.Ident) (found []violation) {
	for _, w := range camelWords(id.Name) {
		use, ok := dialect[w]
		if !ok {
			use, ok = dialectNames[w]
		}
		if ok {
			found = append(found, violation{t.at(id.Pos()), fmt.Sprintf("%s holds the word %q: %s", id.Name, w, use)})
		}
	}
	return found
}

func wordsOf(line, at string) (found []violation) {
	for _, w := range word.FindAllString(line, -1) {
		if use, ok := dialect[strings.ToLower(w)]; ok {
			found = append(found, violation{at, fmt.Sprintf("the text holds the word %q: %s", w, use)})
		}
	}
	return found
}

// camelWords splits an identifier into its words, in lower case: "toldURLs_2" is told, ur, ls.
func camelWords(name string) (words []string) {
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
			start = i
		}
	}
	cut(len(runes))
	return words
}
