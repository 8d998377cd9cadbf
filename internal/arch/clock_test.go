package arch_test

import (
	"fmt"
	"go/ast"
	"slices"
)

// judges are the packages that decide by time: whether a request has expired, a token is available, or a call still holds its slot.
var judges = []string{"workflows", "activities", "policy", "broker", "internal/postgres"}

// forbidsClockComparison refuses comparisons with a worker's clock, which may be wrong by hours (fault 28). The clock of the database decides.
// A worker may measure a duration with time.Since.
func forbidsClockComparison(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if !within(p.path, judges...) {
			continue
		}
		for _, f := range p.code() {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				call, ok := sel.X.(*ast.CallExpr)
				compares := ok && isTime(call.Fun, "Now") && slices.Contains([]string{"After", "Before", "Compare", "Equal", "Add", "Sub", "Unix", "UnixMilli", "UnixMicro", "UnixNano"}, sel.Sel.Name)
				if compares || isTime(sel, "Until") {
					found = append(found, violation{t.at(sel.Pos()), fmt.Sprintf("%s asks its own clock when something is: let the database say, or measure with time.Since", p.path)})
				}
				return true
			})
		}
	}
	return found
}

func isTime(fun ast.Expr, name string) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "time" && sel.Sel.Name == name
}
