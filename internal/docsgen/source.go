package docsgen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// source is what only the source text knows: the members of closed sets, and the
// comments on them and on fields.
type source struct {
	// sets are the values of the string constants of a type, in order.
	sets map[string][]constant
	// fields are the doc comments of the fields of structs, by Type.Field.
	fields map[string]string
	// comments are the first sentences of types and of methods, by Type or
	// Type.Method of package hook.
	comments map[string]string
}

type constant struct{ name, value, comment string }

func readSource(root string) (*source, error) {
	s := &source{sets: map[string][]constant{}, fields: map[string]string{}, comments: map[string]string{}}
	for _, add := range []func(*ast.File){s.addSets, s.addFields} {
		for _, dir := range []string{"toolspec", "toolspec/remotetool"} {
			if err := eachFile(filepath.Join(root, filepath.FromSlash(dir)), add); err != nil {
				return nil, err
			}
		}
	}
	return s, eachFile(filepath.Join(root, "toolspec", "hook"), s.addComments)
}

// eachFile parses the files of a package that ship.
func eachFile(dir string, add func(*ast.File)) error {
	parsed, err := parsePackage(token.NewFileSet(), dir)
	if err == nil && len(parsed) == 0 {
		err = fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	for _, f := range parsed {
		add(f)
	}
	return err
}

// parsePackage parses the Go files of a directory, except its tests. A directory may have none.
func parsePackage(files *token.FileSet, dir string) (parsed []*ast.File, err error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	return parsed, nil
}

// specs returns the specs of the declarations that begin with the keyword tok, each with its
// declaration.
func specs[S ast.Spec](f *ast.File, tok token.Token) iter.Seq2[*ast.GenDecl, S] {
	return func(yield func(*ast.GenDecl, S) bool) {
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != tok {
				continue
			}
			for _, spec := range group.Specs {
				if s, ok := spec.(S); ok && !yield(group, s) {
					return
				}
			}
		}
	}
}

// addSets takes in the constants that name their type, as `A Verb = "a"` does.
func (s *source) addSets(f *ast.File) {
	for _, v := range specs[*ast.ValueSpec](f, token.CONST) {
		if len(v.Values) != 1 {
			continue
		}
		set, isNamed := v.Type.(*ast.Ident)
		literal, isLiteral := v.Values[0].(*ast.BasicLit)
		if !isNamed || !isLiteral || literal.Kind != token.STRING {
			continue
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue
		}
		comment := cmp.Or(v.Doc.Text(), v.Comment.Text())
		s.sets[set.Name] = append(s.sets[set.Name], constant{v.Names[0].Name, value, strings.TrimSpace(comment)})
	}
}

// addFields takes in the doc comments of exported fields.
func (s *source) addFields(f *ast.File) {
	for _, t := range specs[*ast.TypeSpec](f, token.TYPE) {
		fields, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				s.fields[t.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
			}
		}
	}
}

// meaning returns the doc comment of a field without the name that it begins with:
// "Path is the JSON pointer." says "The JSON pointer."
func (s *source) meaning(t reflect.Type, field string) (string, error) {
	comment := s.fields[t.Name()+"."+field]
	if !strings.HasPrefix(comment, field+" ") {
		return "", fmt.Errorf("the field %s.%s needs a doc comment that begins with %s: the documentation shows it", t.Name(), field, field)
	}
	return withoutName(comment, field), nil
}

// withoutName returns a doc comment without the name that it begins with.
func withoutName(comment, name string) string {
	for _, begin := range []string{name + " is ", name + " are ", name + " "} {
		if rest, ok := strings.CutPrefix(comment, begin); ok {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return comment
}

func (s *source) addComments(f *ast.File) {
	for group, t := range specs[*ast.TypeSpec](f, token.TYPE) {
		s.comments[t.Name.Name] = sentence(group.Doc.Text())
	}
	for _, d := range f.Decls {
		method, ok := d.(*ast.FuncDecl)
		if !ok || method.Recv == nil {
			continue
		}
		on := method.Recv.List[0].Type
		if star, ok := on.(*ast.StarExpr); ok {
			on = star.X
		}
		if t, ok := on.(*ast.Ident); ok {
			s.comments[t.Name+"."+method.Name.Name] = sentence(method.Doc.Text())
		}
	}
}

func sentence(comment string) string { return new(doc.Package).Synopsis(comment) }

// values are the members of a set.
func (s *source) values(set string) []string {
	var values []string
	for _, c := range s.sets[set] {
		values = append(values, c.value)
	}
	return values
}
