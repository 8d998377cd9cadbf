package policy

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/toolspec"
)

// Check compares the conditions of the rules with the input schemas of the tools that the rules
// match. A condition must fit the arguments of at least one tool that its rule matches. It is an
// error to use an argument that none of these tools has, or an argument that has another type in
// every tool that has it. Check does not check a rule that matches no tool of specs; Lint reports
// such a rule. The error is an Errors.
func (p *Policy) Check(specs []toolspec.Spec) error {
	if p == nil {
		return nil
	}
	var faults Errors
	c := checker{specs: specs, made: map[string]*typing{}}
	for _, id := range p.tenantIDs() {
		seen := map[string]bool{}
		for _, r := range p.tenants[id].rules {
			w, ok := r.cond.(*whenCondition)
			if !ok || seen[r.source] {
				continue
			}
			seen[r.source] = true
			for _, f := range c.check(r, w) {
				line, column := w.at.position(f.line, f.column)
				faults = append(faults, &Error{File: w.at.file, Line: line, Column: column, Path: r.source + ".when", Reason: f.reason})
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults.sorted()
}

// checker keeps the typing of each set of tools, so that it is made once.
type checker struct {
	specs []toolspec.Spec
	made  map[string]*typing
}

// typing is the CEL environment for conditions on some tools.
type typing struct {
	env   *cel.Env
	types *typed
	// whose names the tools in messages.
	whose string
}

func (c *checker) check(r rule, w *whenCondition) []whenFault {
	matching := r.matching(c.specs)
	if len(matching) == 0 {
		return nil
	}
	t := c.typing(matching)
	if t == nil {
		return nil
	}
	clear(t.types.misses)
	checked, issues := t.env.Compile(w.text)
	if issues.Err() != nil {
		return explained(w.text, issues, func(field string) string { return missing(t.whose, field, t.types.misses[field]) })
	}
	if faults := lint(checked); len(faults) > 0 {
		return faults
	}
	return append(t.indexed(checked.NativeRep()), t.calculated(checked.NativeRep())...)
}

// typing returns the typing for the arguments of the tools. It returns nil if it cannot build the
// environment; then the condition is not checked.
func (c *checker) typing(matching []toolspec.Spec) *typing {
	names := make([]string, len(matching))
	for i, s := range matching {
		names[i] = s.Name
	}
	key := strings.Join(names, " ")
	if t, ok := c.made[key]; ok {
		return t
	}
	var args *shape
	for _, s := range matching {
		if next := shapeOf(s.InputSchema); args == nil {
			args = next
		} else {
			args = merged(args, next)
		}
	}
	t := &typing{types: newTyped(whenEnv().CELTypeProvider()), whose: "the tools of the rule have"}
	if len(names) == 1 {
		t.whose = names[0] + " has"
	}
	var err error
	if t.env, err = t.types.env(args); err != nil {
		t = nil
	}
	c.made[key] = t
	return t
}

// matching returns the tools that a rule may apply to.
func (r *rule) matching(specs []toolspec.Spec) []toolspec.Spec {
	var matching []toolspec.Spec
	for _, s := range specs {
		if r.tool.Matches(s.Name) && (len(r.effects) == 0 || slices.Contains(r.effects, s.Effect)) &&
			(len(r.risks) == 0 || slices.Contains(r.risks, s.Risk)) {
			matching = append(matching, s)
		}
	}
	return matching
}

// indexed finds unknown fields that are written as args["field"].
func (t *typing) indexed(tree *ast.AST) []whenFault {
	var faults []whenFault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		of, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
		switch e.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex:
		case operators.In:
			of, key = key, of
		default:
			return
		}
		name, ok := key.AsLiteral().(types.String)
		s := t.types.objects[tree.GetType(of.ID()).TypeName()]
		if !ok || s == nil || s.open || s.fields[string(name)] != nil {
			return
		}
		faults = append(faults, faultAt(tree, key.ID(), missing(t.whose, string(name), s)))
	}))
	return faults
}

// calculated finds arithmetic on numbers whose CEL type, int or double, depends on the value. The
// arithmetic would fail for the other type.
func (t *typing) calculated(tree *ast.AST) []whenFault {
	var faults []whenFault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch e.AsCall().FunctionName() {
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		default:
			return
		}
		for _, of := range e.AsCall().Args() {
			if of.Kind() != ast.SelectKind {
				continue
			}
			name := of.AsSelect().FieldName()
			s := t.types.objects[tree.GetType(of.AsSelect().Operand().ID()).TypeName()]
			if s == nil || s.fields[name] == nil || s.fields[name].kind != number {
				continue
			}
			faults = append(faults, faultAt(tree, e.ID(),
				fmt.Sprintf("%s is an int or a double, by its value; to calculate with it, write double(…) around it", name)))
		}
	}))
	return faults
}

// missing returns the message for an unknown field, with the most similar name or the known
// names.
func missing(whose, field string, s *shape) string {
	said := fmt.Sprintf("%s no argument %s", whose, field)
	if s == nil {
		return said
	}
	names := sortedKeys(s.fields)
	if like := nearest(field, names); like != "" {
		return fmt.Sprintf("%s; did you mean %s?", said, like)
	}
	const most = 12
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("%s; there are %s", said, strings.Join(names, ", "))
}
