package docsgen

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	exact "go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// published are the packages that users import. Their exported limits are promises.
var published = []string{"broker", "client", "policy", "proof", "toolspec", "tools", "worker"}

const modulePath = "github.com/pawl-run/pawl/"

// limitName is the name of a constant that bounds something or is a default.
var limitName = regexp.MustCompile(`^(Max|Min|Default)[A-Z]|[a-z]Limit$`)

// toolLimit is a limit that the author of a tool can set.
type toolLimit struct {
	field, unit     string
	standard, bound int64
	what, beyond    string
}

// toolLimits are the limits of toolspec.Definition. A test holds them against its Check.
var toolLimits = []toolLimit{
	{"MaxArgsBytes", "bytes", toolspec.DefaultMaxArgs, toolspec.MaxInline, "the arguments, as JSON", "`validation`"},
	{"MaxResultBytes", "bytes", toolspec.DefaultMaxResult, toolspec.MaxResult, "the redacted value, as JSON; policy may lower it", "`result_too_large`"},
	{"Timeout", "s", seconds(toolspec.DefaultTimeout), seconds(toolspec.MaxTimeout), "one attempt", "the attempt ends"},
	{"Timeout, with Fast", "s", seconds(toolspec.FastLimit), seconds(toolspec.FastLimit), "one attempt in the local lane", "the attempt ends"},
	{"MaxAttempts", "", toolspec.DefaultAttempts, toolspec.MaxAttempts, "attempts of a call whose tool may be repeated; another tool runs once by default", "the call ends"},
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// limitTables writes the limits of a tool, and the limits that packages export.
func limitTables(root string) (map[string]string, error) {
	var rows [][]string
	for _, l := range toolLimits {
		amount := func(n int64) string { return strings.TrimSpace(fmt.Sprintf("%d %s", n, l.unit)) }
		field, condition, conditional := strings.Cut(l.field, ", ")
		if field = code(field); conditional {
			field += ", " + condition
		}
		rows = append(rows, []string{field, l.what, amount(l.standard), amount(l.bound), l.beyond})
	}
	exported, err := exportedLimits(root)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"tool limits": table([]string{"field", "limits", "default", "at most", "beyond it"}, rows),
		"limits":      exported,
	}, nil
}

// exportedLimits writes a table for each package that exports limits.
func exportedLimits(root string) (string, error) {
	c := &checker{root: root, files: token.NewFileSet(), seen: map[string]*checked{}}
	c.standard = importer.ForCompiler(c.files, "source", nil)
	var b strings.Builder
	for _, tree := range published {
		err := filepath.WalkDir(filepath.Join(root, tree), func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if name := d.Name(); name == "internal" || name == "testdata" || strings.HasSuffix(name, "test") {
				return fs.SkipDir
			}
			below, err := filepath.Rel(root, dir)
			if err != nil {
				return err
			}
			p, err := c.check(filepath.ToSlash(below))
			if err != nil {
				return err
			}
			rows, err := limitsOf(p)
			if len(rows) > 0 {
				fmt.Fprintf(&b, "### %s\n\n%s\n", filepath.ToSlash(below), table([]string{"constant", "value", "meaning"}, rows))
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// checker finds the values of constants. It reads this module and package time, and
// takes every other package for an empty one.
type checker struct {
	root     string
	files    *token.FileSet
	standard types.Importer
	seen     map[string]*checked
}

// checked is a package with the values of its constants.
type checked struct {
	below  string
	syntax []*ast.File
	types  *types.Package
	defs   map[*ast.Ident]types.Object
}

func (c *checker) check(below string) (*checked, error) {
	if p := c.seen[below]; p != nil {
		return p, nil
	}
	p := &checked{below: below, defs: map[*ast.Ident]types.Object{}}
	c.seen[below] = p
	var err error
	if p.syntax, err = parsePackage(c.files, filepath.Join(c.root, filepath.FromSlash(below))); err != nil {
		return nil, err
	}
	config := types.Config{Importer: c, IgnoreFuncBodies: true, Error: func(error) {}}
	p.types, _ = config.Check(modulePath+below, c.files, p.syntax, &types.Info{Defs: p.defs}) // what it cannot find is no constant
	return p, nil
}

// Import implements types.Importer: the checker imports the packages of this module, and time, and gives an
// empty package for every other path.
func (c *checker) Import(name string) (*types.Package, error) {
	if name == "time" {
		return c.standard.Import(name)
	}
	if below, ok := strings.CutPrefix(name, modulePath); ok {
		p, err := c.check(below)
		if err != nil {
			return nil, err
		}
		return p.types, nil
	}
	empty := types.NewPackage(name, path.Base(name))
	empty.MarkComplete()
	return empty, nil
}

func limitsOf(p *checked) (rows [][]string, err error) {
	for _, f := range p.syntax {
		for group, v := range specs[*ast.ValueSpec](f, token.CONST) {
			comment := cmp.Or(v.Doc.Text(), v.Comment.Text())
			if !group.Lparen.IsValid() {
				comment = group.Doc.Text()
			}
			for _, name := range v.Names {
				if !limitName.MatchString(name.Name) {
					continue
				}
				value, err := valueOf(p.defs[name])
				switch {
				case err != nil:
					return nil, fmt.Errorf("%s.%s: %w", p.below, name.Name, err)
				case value == "":
					continue
				case !strings.HasPrefix(comment, name.Name+" "):
					return nil, fmt.Errorf("%s.%s needs a doc comment that begins with its name: the documentation shows it", p.below, name.Name)
				}
				rows = append(rows, []string{code(path.Base(p.below) + "." + name.Name), value, saying(comment, name.Name)})
			}
		}
	}
	return rows, nil
}

// zeros are the parts of a written duration that say nothing: 24h0m0s.
var zeros = regexp.MustCompile(`([hm])(0m)?0s$`)

// valueOf writes a constant that is a number or a duration; others are empty.
func valueOf(object types.Object) (string, error) {
	c, ok := object.(*types.Const)
	if !ok || c.Val().Kind() == exact.Unknown {
		return "", errors.New("its value is not known")
	}
	n, ok := exact.Int64Val(exact.ToInt(c.Val()))
	switch {
	case !ok:
		return "", nil
	case c.Type().String() == "time.Duration":
		return zeros.ReplaceAllString(time.Duration(n).String(), "$1"), nil
	}
	return strconv.FormatInt(n, 10), nil
}

// saying returns the comment of a constant as the text of a table cell.
func saying(comment, name string) string {
	text := strings.Join(strings.Fields(comment), " ")
	if !strings.HasPrefix(text, name+" and ") {
		text = withoutName(text, name)
	}
	return strings.ReplaceAll(text, "|", `\|`)
}
