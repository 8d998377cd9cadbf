package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// callers are the trees that may use a function, and no other. symbol is the full name that the
// type checker gives the function. once allows only one use.
var callers = []struct {
	symbol string
	trees  []string
	once   bool
	why    string
}{
	{
		symbol: "(" + module + "/toolspec.Tool).Run", trees: []string{"activities/attempt"}, once: true,
		why: "only the execute activity runs a tool (TOOLS_VIA_TOOLRUNNER, ARCH_SINGLE_EXECUTION_PATH)",
	},
	{
		symbol: "(" + module + "/toolspec.Tool).Probe", trees: []string{"activities/attempt"}, once: true,
		why: "only the reconcile activity probes a tool (ARCH_SINGLE_EXECUTION_PATH)",
	},
	{
		symbol: "(" + module + "/toolspec/capability.Secret).Reveal", trees: []string{"broker", "internal/remote", "internal/faultkit/ledger", "examples"},
		why: "only the broker, tools that were given one, and the lease of a remote tool see a credential (NO_SECRETS_IN_CONTEXT)",
	},
	{
		symbol: module + "/workflows/gate.Judge", trees: []string{"workflows"}, once: true,
		why: "the gate judges in its first pass, which is in the plan, and in regate",
	},
	{
		symbol: module + "/workflows/gate.Denial", trees: []string{"workflows"}, once: true,
		why: "the gate judges in its first pass, which is in the plan, and in regate",
	},
	{
		symbol: module + "/internal/web.NewLocalFetcher",
		why:    "only tests fetch pages from their own machine",
	},
}

func toolsRunInOnePlace(t *tree) (found []violation) {
	seen := map[string]bool{}
	for _, c := range t.calls {
		for _, rule := range callers {
			if c.symbol != rule.symbol || supports(c.pkg) {
				continue
			}
			allowed := within(c.pkg, rule.trees...)
			if !allowed || rule.once && seen[c.symbol] {
				found = append(found, violation{t.at(c.at), fmt.Sprintf("%s may not use %s here: %s", c.pkg, c.symbol, rule.why)})
			}
			seen[c.symbol] = seen[c.symbol] || allowed
		}
	}
	return found
}

// withCalls reads and type-checks the repository: only types show whether x.Run runs a tool.
func withCalls(t *testing.T) *tree {
	t.Helper()
	tr := repository(t)
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo,
		Fset: tr.fset,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Error(e)
		}
		if own, ok := ours(p.PkgPath); ok {
			tr.calls = append(tr.calls, uses(own, p.TypesInfo)...)
		}
	}
	return tr
}

// uses lists the functions of this module that a package refers to, called or
// only taken as a value.
func uses(pkgPath string, info *types.Info) (calls []call) {
	on := map[token.Pos]string{}
	for sel, s := range info.Selections {
		on[sel.Sel.Pos()] = strings.TrimPrefix(types.TypeString(s.Recv(), nil), "*")
	}
	for id, object := range info.Uses {
		f, ok := object.(*types.Func)
		if !ok || f.Pkg() == nil {
			continue
		}
		if _, ok := ours(f.Pkg().Path()); ok {
			calls = append(calls, call{pkg: pkgPath, symbol: f.Origin().FullName(), on: on[id.Pos()], at: id.Pos()})
		}
	}
	// A map has no order, and reports must be the same each time.
	slices.SortFunc(calls, func(a, b call) int { return int(a.at) - int(b.at) })
	return calls
}

// typed type-checks a planted tree. Planted code imports only planted code.
type typed struct {
	tree *tree
	done map[string]*types.Package
}

// Import implements types.Importer.
func (c *typed) Import(imported string) (*types.Package, error) {
	if p, ok := c.done[imported]; ok {
		return p, nil
	}
	for _, p := range c.tree.packages {
		if path.Join(module, p.path) == imported {
			return c.check(p)
		}
	}
	return nil, fmt.Errorf("%s is not planted", imported)
}

func (c *typed) check(p *pkg) (*types.Package, error) {
	var files []*ast.File
	for _, f := range p.code() {
		files = append(files, f.syntax)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	checked, err := (&types.Config{Importer: c}).Check(path.Join(module, p.path), c.tree.fset, files, info)
	if err != nil {
		return nil, err
	}
	c.done[path.Join(module, p.path)] = checked
	c.tree.calls = append(c.tree.calls, uses(p.path, info)...)
	return checked, nil
}

func (t *tree) typeCheck() error {
	c := &typed{tree: t, done: map[string]*types.Package{}}
	for _, p := range t.packages {
		if _, err := c.Import(path.Join(module, p.path)); err != nil {
			return err
		}
	}
	return nil
}
