package condition

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/toolspec"
)

// Condition is the compiled condition of a rule. Several goroutines may use it.
type Condition struct {
	text string
	// program evaluates the condition for a call with arguments. early evaluates it for a call whose arguments are
	// not known yet; it is nil if the condition does not use the arguments.
	program, early cel.Program
}

// Compile compiles a condition of at most document.MaxCondition characters. It returns no condition
// if there are faults.
func Compile(text string) (*Condition, []Fault) {
	checked, issues := looseEnv().Compile(text)
	if issues.Err() != nil {
		return nil, translateIssues(text, issues, nil)
	}
	if faults := lint(checked); len(faults) > 0 {
		return nil, faults
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	switch expected, most, err := costs(checked); {
	case err != nil:
		return nil, []Fault{{Reason: "its cost cannot be estimated: " + err.Error()}}
	case expected > maxCost:
		return nil, []Fault{{Reason: "costs too much to evaluate; compare fewer lists and texts with each other"}}
	case most > maxCost:
		options = append(options, cel.CostLimit(maxCost), cel.MemoryLimit(maxMemory),
			cel.MemoryTracking(types.MemoryTrackerSizeCalculator(types.NewSizeCalculator(types.SizeCalculatorMaxTraversal(2*toolspec.MaxInline)))))
	}
	c := &Condition{text: text}
	var err error
	if c.program, err = looseEnv().Program(checked, options...); err == nil && mentions(checked, argsName) {
		c.early, err = looseEnv().Program(checked, append(options, cel.EvalOptions(cel.OptPartialEval))...)
	}
	if err != nil {
		return nil, []Fault{{Reason: err.Error()}}
	}
	return c, nil
}

// Text returns the condition as it is written.
func (c *Condition) Text() string { return c.text }

// Eval evaluates the condition for a call. It returns Undetermined if the result depends on arguments that are not known
// yet. It returns Failed if the result is neither true nor false, for example because an argument is missing or has an
// unexpected type.
func (c *Condition) Eval(v *Variables) Truth {
	if c.early == nil || v.HasArgs {
		return answer(c.program.Eval((*activation)(v)))
	}
	known, err := cel.PartialVars((*activation)(v), cel.AttributePattern(argsName))
	if err != nil {
		return Failed
	}
	return answer(c.early.Eval(known))
}

// Failure returns the reason why Eval returns Failed for a call, in one line.
func (c *Condition) Failure(v *Variables) string {
	value, _, err := c.program.Eval((*activation)(v))
	if err != nil {
		return oneLine(err.Error())
	}
	return fmt.Sprintf("it is of type %s, neither true nor false", value.Type().TypeName())
}

// answer turns a result of CEL into a Truth. A result that depends on arguments that are not known is
// Undetermined. An error, or a value that is no bool, is Failed.
func answer(value any, _ *cel.EvalDetails, err error) Truth {
	switch v := value.(type) {
	case types.Bool:
		if err != nil {
			return Failed
		}
		if v {
			return Yes
		}
		return No
	case *types.Unknown:
		return Undetermined
	}
	return Failed
}

// mentions reports whether an expression uses a variable.
func mentions(checked *cel.Ast, variable string) bool {
	found := false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == variable
	}))
	return found
}
