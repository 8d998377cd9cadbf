package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/toolspec"
)

// whenCondition is the compiled condition of a rule. Several goroutines may use it.
type whenCondition struct {
	text string
	at   origin
	// program evaluates the condition if all variables are known, early if the arguments are not
	// known. early is nil if the condition does not use the arguments.
	program, early cel.Program
}

// newWhen compiles a condition. A fault of the whole text has no position.
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
		options = append(options, cel.CostLimit(maxWhenCost), cel.MemoryLimit(maxWhenMemory),
			cel.MemoryTracking(types.MemoryTrackerSizeCalculator(types.NewSizeCalculator(types.SizeCalculatorMaxTraversal(2*toolspec.MaxInline)))))
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

// eval evaluates the condition for a call. A result that is neither true nor false is failed, for
// example if an argument is missing or has an unexpected type.
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

// mentions reports whether an expression uses a variable.
func mentions(checked *cel.Ast, variable string) bool {
	found := false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == variable
	}))
	return found
}
