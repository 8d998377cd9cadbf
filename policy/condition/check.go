package condition

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/pawl-run/pawl/policy/suggest"
	"github.com/pawl-run/pawl/toolspec"
)

// Checker compares conditions with the input schemas of tools. It keeps the CEL environment for each list of
// tools, so that it builds it once.
type Checker struct{ typings map[string]*typing }

// NewChecker returns a Checker.
func NewChecker() *Checker { return &Checker{typings: map[string]*typing{}} }

// Check returns the faults of a condition for calls of the tools: an argument that none of the tools has, an
// argument whose type, the same in all tools that have it, does not fit its use, arithmetic on a number that may
// be an int or a double, and what lint refuses. Without tools, or if the types of the tools cannot be expressed in
// CEL, there are no faults.
func (c *Checker) Check(condition *Condition, tools []toolspec.Spec) []Fault {
	if len(tools) == 0 {
		return nil
	}
	t := c.typingOf(tools)
	if t == nil {
		return nil
	}
	clear(t.types.unknownFields) // Compile fills it
	checked, issues := t.env.Compile(condition.text)
	if issues.Err() != nil {
		return translateIssues(condition.text, issues, func(field string) string { return unknownField(t.subject, field, t.types.unknownFields[field]) })
	}
	if faults := lint(checked); len(faults) > 0 {
		return faults
	}
	return append(t.unknownIndexes(checked.NativeRep()), t.ambiguousArithmetic(checked.NativeRep())...)
}

// typing is the CEL environment for conditions on some tools.
type typing struct {
	env   *cel.Env
	types *typeProvider
	// subject is the beginning of a message about the tools: "mail__send has".
	subject string
}

// typingOf returns the environment for conditions on the arguments of the tools. It builds the environment once for each list of tool names.
// It returns nil if it cannot build the environment.
func (c *Checker) typingOf(tools []toolspec.Spec) *typing {
	names := make([]string, len(tools))
	for i, s := range tools {
		names[i] = s.Name
	}
	key := strings.Join(names, " ")
	if t, ok := c.typings[key]; ok {
		return t
	}
	var args *shape
	for _, s := range tools {
		if next := shapeOf(s.InputSchema); args == nil {
			args = next
		} else {
			args = merged(args, next)
		}
	}
	t := &typing{types: newTypeProvider(baseEnv().CELTypeProvider()), subject: "the tools of the rule have"}
	if len(names) == 1 {
		t.subject = names[0] + " has"
	}
	var err error
	if t.env, err = t.types.env(args); err != nil {
		t = nil
	}
	c.typings[key] = t
	return t
}

// unknownIndexes returns faults for unknown fields that are written as args["field"] or "field" in args.
func (t *typing) unknownIndexes(tree *ast.AST) []Fault {
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		operand, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
		switch e.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex:
		case operators.In:
			operand, key = key, operand
		default:
			return
		}
		name, ok := key.AsLiteral().(types.String)
		s := t.types.objects[tree.GetType(operand.ID()).TypeName()]
		if !ok || s == nil || s.open || s.fields[string(name)] != nil {
			return
		}
		faults = append(faults, faultAt(tree, key.ID(), unknownField(t.subject, string(name), s)))
	}))
	return faults
}

// ambiguousArithmetic returns faults for arithmetic on numbers whose CEL type, int or double, depends on the value. The
// arithmetic would fail for the other type.
func (t *typing) ambiguousArithmetic(tree *ast.AST) []Fault {
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch e.AsCall().FunctionName() {
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		default:
			return
		}
		for _, operand := range e.AsCall().Args() {
			object, name := fieldOf(operand)
			if object == nil {
				continue
			}
			s := t.types.objects[tree.GetType(object.ID()).TypeName()]
			if s == nil || s.fields[name] == nil || s.fields[name].kind != number {
				continue
			}
			faults = append(faults, faultAt(tree, e.ID(),
				fmt.Sprintf("%s is an int or a double, by its value; to calculate with it, write double(…) around it", name)))
		}
	}))
	return faults
}

// fieldOf returns the object and the name of an expression of the form object.name or object["name"], or nil.
func fieldOf(e ast.Expr) (object ast.Expr, name string) {
	switch {
	case e.Kind() == ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
		if key, ok := e.AsCall().Args()[1].AsLiteral().(types.String); ok {
			return e.AsCall().Args()[0], string(key)
		}
	}
	return nil, ""
}

// unknownField returns the message for an unknown field, with the most similar name or the known
// names. subject is the beginning of the message.
func unknownField(subject, field string, s *shape) string {
	message := fmt.Sprintf("%s no argument %s", subject, field)
	if s == nil {
		return message
	}
	names := sortedKeys(s.fields)
	if like := suggest.Nearest(field, names); like != "" {
		return fmt.Sprintf("%s; did you mean %s?", message, like)
	}
	const most = 12
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("%s; there are %s", message, strings.Join(names, ", "))
}
