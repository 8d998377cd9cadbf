package condition

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/policy/document"
)

// Bounds, in bytes, of texts that a condition passes to functions. The condition must have these texts as
// literals.
const (
	// maxInsert bounds the separator in list.join(", ") and both texts in text.replace("a", "b").
	maxInsert = 16
	// maxSearch bounds the text in text.indexOf("a") and text.lastIndexOf("a").
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
			// CEL walks a map literal in a different order each time, so the verdict could differ. For cel.bind
			// the map is in AccuInit. Objects in the arguments have a fixed order: see ordered.
			if within := e.AsComprehension(); holdsMap(within.IterRange()) || holdsMap(within.AccuInit()) {
				faults = append(faults, faultAt(tree, e.ID(), "a map that is written out cannot be walked; walk a list"))
			}
		default:
		}
	}))
	return faults
}

// unbounded returns the operand of a function that must be a literal and is not, and the reason for the author of
// the condition. In text.matches(args.p), such an operand is args.p: it comes from the call and decides how much
// work the function does. CEL counts the cost of a function only after it returns, which is too late. of is nil if
// there is no such operand.
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
