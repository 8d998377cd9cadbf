package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// when is the compiled condition of a rule. It may be used by several goroutines.
type whenCondition struct {
	text string
	at   origin
	// program answers where everything is known; early, where the arguments are
	// not. It is nil where the condition does not speak of them.
	program, early cel.Program
}

// newWhen compiles a condition. The faults have no position where they are of
// the whole text.
func newWhen(text string) (*whenCondition, []whenFault) {
	checked, issues := looseEnv().Compile(text)
	if issues.Err() != nil {
		return nil, explained(text, issues, nil)
	}
	if faults := lint(checked); len(faults) > 0 {
		return nil, faults
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	switch expected, most, err := costs(checked); {
	case err != nil:
		return nil, []whenFault{{reason: "its cost cannot be estimated: " + err.Error()}}
	case expected > maxWhenCost:
		return nil, []whenFault{{reason: "costs too much to evaluate; compare fewer lists and texts with each other"}}
	case most > maxWhenCost:
		options = append(options, cel.CostLimit(maxWhenCost))
	}
	w := &whenCondition{text: text}
	var err error
	if w.program, err = looseEnv().Program(checked, options...); err == nil && mentions(checked, argsName) {
		w.early, err = looseEnv().Program(checked, append(options, cel.EvalOptions(cel.OptPartialEval))...)
	}
	if err != nil {
		return nil, []whenFault{{reason: err.Error()}}
	}
	return w, nil
}

// eval answers for a call. What is neither true nor false, an argument that is
// not there or another type than expected among it, has failed.
func (w *whenCondition) eval(e *evaluation) truth {
	if w.early == nil || e.facts.HasArgs {
		return answer(w.program.Eval(e))
	}
	known, err := cel.PartialVars(e, cel.AttributePattern(argsName))
	if err != nil {
		return failed
	}
	return answer(w.early.Eval(known))
}

func answer(value any, _ *cel.EvalDetails, err error) truth {
	switch v := value.(type) {
	case types.Bool:
		if err != nil {
			return failed
		}
		if v {
			return yes
		}
		return no
	case *types.Unknown:
		return undetermined
	}
	return failed
}

// lint refuses what CEL allows and a policy may not hold.
func lint(checked *cel.Ast) []whenFault {
	if out := checked.OutputType(); !out.IsExactType(types.BoolType) && !out.IsExactType(types.DynType) {
		return []whenFault{{reason: "must be true or false, and this is of type " + cel.FormatCELType(out)}}
	}
	var faults []whenFault
	tree := checked.NativeRep()
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			// A regular expression from the arguments would be compiled on every call,
			// and could be anything.
			if of := e.AsCall().Args(); e.AsCall().FunctionName() == overloads.Matches && of[len(of)-1].Kind() != ast.LiteralKind {
				faults = append(faults, faultAt(tree, of[len(of)-1].ID(), "a regular expression must be written out here"))
			}
		case ast.ComprehensionKind:
			// The library walks these in another order each time. The objects of the
			// arguments have one: see ordered.
			if within := e.AsComprehension(); holdsMap(within.IterRange()) || holdsMap(within.AccuInit()) {
				faults = append(faults, faultAt(tree, e.ID(), "a map that is written out cannot be walked; walk a list"))
			}
		default:
		}
	}))
	return faults
}

// holdsMap reports whether a map of several entries is written in an expression.
func holdsMap(e ast.Expr) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.MapKind && len(e.AsMap().Entries()) > 1
	}))
	return found
}

// mentions reports whether an expression uses a variable.
func mentions(checked *cel.Ast, variable string) bool {
	found := false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == variable
	}))
	return found
}
