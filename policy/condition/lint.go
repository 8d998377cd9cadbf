package condition

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/policy/document"
)

// Bounds of the texts that a condition writes out for functions of texts, in bytes: maxInsert for the separator of join and for both texts of
// replace, maxSearch for the text that indexOf and lastIndexOf look for.
const (
	maxInsert = 16
	maxSearch = 64
)

// lint refuses expressions that CEL allows but a policy may not contain.
func lint(checked *cel.Ast) []Fault {
	if out := checked.OutputType(); !out.IsExactType(types.BoolType) && !out.IsExactType(types.DynType) {
		return []Fault{{Reason: "must be true or false, and this is of type " + cel.FormatCELType(out)}}
	}
	var faults []Fault
	tree := checked.NativeRep()
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if of, reason := unbounded(e.AsCall()); reason != "" {
				faults = append(faults, faultAt(tree, of.ID(), reason))
			}
		case ast.ComprehensionKind:
			// CEL walks a map that is written out in a different order each time. AccuInit has such a map in cel.bind. Objects in the arguments
			// have a fixed order: see ordered.
			if within := e.AsComprehension(); holdsMap(within.IterRange()) || holdsMap(within.AccuInit()) {
				faults = append(faults, faultAt(tree, e.ID(), "a map that is written out cannot be walked; walk a list"))
			}
		default:
		}
	}))
	return faults
}

// unbounded finds an operand of a CEL function that is not written out in the condition, and that decides how much work the function does or how
// large its result is. It could come from the arguments of the tool call. It is refused, because CEL counts the cost of a function only after the
// function returns. of is nil if there is no such operand.
func unbounded(call ast.CallExpr) (of ast.Expr, reason string) {
	args := call.Args()
	switch call.FunctionName() {
	case overloads.Matches:
		if of = args[len(args)-1]; !written(of, document.MaxCondition) {
			return of, "a regular expression must be written out here"
		}
	case "format":
		if of = call.Target(); !written(of, document.MaxCondition) {
			return of, "a format must be written out here"
		}
	case "join":
		if len(args) > 0 && !written(args[0], maxInsert) {
			return args[0], fmt.Sprintf("what join puts between must be written out here, in at most %d bytes", maxInsert)
		}
	case "replace":
		for _, of := range args[:2] {
			if !written(of, maxInsert) {
				return of, fmt.Sprintf("what replace is to find and put in must be written out here, each in at most %d bytes", maxInsert)
			}
		}
	case "indexOf", "lastIndexOf":
		if !written(args[0], maxSearch) {
			return args[0], fmt.Sprintf("what %s is to find must be written out here, in at most %d bytes", call.FunctionName(), maxSearch)
		}
	case "sets.contains", "sets.equivalent", "sets.intersects":
		if !short(args[0]) && !short(args[1]) {
			return args[1], "one of the two lists must be written out here, or be roles"
		}
	}
	return nil, ""
}

// short reports whether a list is short: a literal, or the roles.
func short(e ast.Expr) bool {
	return e.Kind() == ast.ListKind || e.Kind() == ast.IdentKind && e.AsIdent() == "roles"
}

// written reports whether an expression is a string literal of at most the given number of bytes.
func written(e ast.Expr, limit int) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	text, ok := e.AsLiteral().(types.String)
	return ok && len(text) <= limit
}

// holdsMap reports whether an expression contains a map literal with several entries.
func holdsMap(e ast.Expr) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.MapKind && len(e.AsMap().Entries()) > 1
	}))
	return found
}
