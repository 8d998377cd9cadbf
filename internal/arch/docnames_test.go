package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// foreignNames are the names in comments that are no identifiers of this module: names of products, and of types, functions and
// members in the code of others.
var foreignNames = strings.Fields(`
	CloudEvent CommandComplete DeepSeek EventSource GitLab HashiCorp JavaScript MiniMax OpenBao OpenTelemetry ReadyForQuery ServeMux WebAssembly
	FunctionDeclaration FunctionDefinitionParam GenerateContentResponse HydrationResult LlmToolCall LlmToolChoice LlmToolDefinition ToolFunctionParameters
	ToolInputSchemaParam ToolProperty
	cryptoKeys generateContent httpClient keyRings streamFunctionCallArguments supportedSchemaKeys supportedStringFormats
	transformSchema tunedModels
	CountWords TestSomething
	uD800 uDBFF uXXXX
`)

var (
	// mixedName matches a name with a capital letter after a small one. Names in one case cannot be told from words.
	mixedName  = regexp.MustCompile(`\b[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*\b`)
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// docLink matches a link to an exported name of the package. A name in capitals is a literal of a protocol, such as [DONE].
	docLink = regexp.MustCompile(`\[\*?([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)(?:\.([A-Z][A-Za-z0-9]*))?\]`)
	address = regexp.MustCompile(`https?://\S+`)
)

// commentsNameWhatExists refuses a comment that names an identifier which nothing in the tree declares or uses, such as a function that
// was renamed. A link in brackets must name a declaration of its own package.
func commentsNameWhatExists(t *tree) (found []violation) {
	known := map[string]bool{}
	for _, name := range foreignNames {
		known[name] = true
	}
	own := map[*pkg]map[string]bool{}
	for _, p := range t.packages {
		own[p] = map[string]bool{}
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CommentGroup:
					return false
				case *ast.BasicLit:
					if n.Kind == token.STRING { // tags, queries and messages have names too
						for _, name := range identifier.FindAllString(n.Value, -1) {
							known[name] = true
						}
					}
				case *ast.Ident:
					known[n.Name], own[p][n.Name] = true, true
				}
				return true
			})
		}
	}
	for _, p := range t.packages {
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for _, group := range f.syntax.Comments {
				for _, c := range group.List {
					for i, line := range strings.Split(address.ReplaceAllString(c.Text, ""), "\n") {
						at := t.fset.Position(c.Pos())
						place := fmt.Sprintf("%s:%d", at.Filename, at.Line+i)
						for _, name := range mixedName.FindAllString(line, -1) {
							if !known[name] {
								found = append(found, violation{place, fmt.Sprintf("the comment names %s, which does not exist: correct it, or add the name of others to foreignNames", name)})
							}
						}
						for _, link := range docLink.FindAllStringSubmatch(line, -1) {
							if names := slices.DeleteFunc(link[1:], func(name string) bool { return name == "" || own[p][name] }); len(names) > 0 {
								found = append(found, violation{place, fmt.Sprintf("the link %s names nothing of its package", link[0])})
							}
						}
					}
				}
			}
		}
	}
	return found
}
