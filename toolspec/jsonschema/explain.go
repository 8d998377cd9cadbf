package jsonschema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// explainer finds the problems of a value that the evaluator refused. It applies the same rules,
// but continues after the first problem. It stops when the list is full; over is then true.
type explainer struct {
	evaluator
	problems []Problem
}

// problemCost is the number of steps for one problem, because writing a problem takes longer than
// finding it.
const problemCost = 100

// add adds a problem unless the list has it already.
func (e *explainer) add(at strictjson.Path, kind Kind, message string) {
	if !e.spend(problemCost) {
		return
	}
	p := Problem{Path: at.Short(), Kind: kind, Message: message}
	if slices.Contains(e.problems, p) {
		return
	}
	e.problems = append(e.problems, p)
	e.over = e.full()
}

// full reports whether the list of problems is full.
func (e *explainer) full() bool { return len(e.problems) == maxProblems }

func (e *explainer) invalid(at strictjson.Path, rule string) {
	e.add(at, KindInvalidValue, invalid(at, rule))
}

// visit adds the problems of the value at i under n. m is as in the evaluator.
func (e *explainer) visit(n *Node, i int, at strictjson.Path, m *marks) {
	r := n.rules
	if !e.spend(r.cost) {
		return
	}
	if r.refuses {
		e.invalid(at, "nothing is allowed here")
		return
	}
	e.value(n, r, i, at)
	kind := e.t.Items[i].Kind
	own := m
	if unevaluated := r.unevaluatedField != nil && kind == '{' || r.unevaluatedItems != nil && kind == '['; unevaluated {
		own = new(marks)
		defer m.addAll()
		defer func() { e.unevaluated(r, i, at, own) }()
	}
	if r.inPlace {
		e.inPlaceFaults(r, i, at, own)
	}
	switch kind {
	case '{':
		e.fields(r, i, at, own)
	case '[':
		e.elements(r, i, at, own)
	case '"':
		e.textFaults(n, r, i, at)
	case '0':
		e.numberFaults(r, i, at)
	}
}

// value explains type, enum and const.
func (e *explainer) value(n *Node, r *rules, i int, at strictjson.Path) {
	if r.kinds != 0 && !e.kindOK(r, i) {
		e.add(at, KindTypeMismatch, "Invalid type for field: "+at.Field())
	}
	if r.enum != nil && !e.inEnum(r, i) {
		list, _ := n.Object["enum"].([]any)
		e.invalid(at, "must be one of "+brief(values(list)))
	}
	if r.equal != "" && !e.isConst(r, i) {
		e.invalid(at, "must be "+brief(values([]any{n.Object["const"]})))
	}
}

func (e *explainer) numberFaults(r *rules, i int, at strictjson.Path) {
	literal := e.t.Bytes(i)
	if r.minimum != nil && r.minimum.cmp(literal) < 0 {
		e.invalid(at, "must be ≥ "+r.minimum.literal)
	}
	if r.maximum != nil && r.maximum.cmp(literal) > 0 {
		e.invalid(at, "must be ≤ "+r.maximum.literal)
	}
	if r.above != nil && r.above.cmp(literal) <= 0 {
		e.invalid(at, "must be > "+r.above.literal)
	}
	if r.below != nil && r.below.cmp(literal) >= 0 {
		e.invalid(at, "must be < "+r.below.literal)
	}
	if r.multiple != nil && !r.multiple.divides(literal) {
		e.invalid(at, "must be a multiple of "+r.multiple.literal)
	}
}

func (e *explainer) textFaults(n *Node, r *rules, i int, at strictjson.Path) {
	if !e.spend(e.size(i) * r.reading) {
		return
	}
	if !e.lengthOK(r.minLength, -1, i) {
		e.invalid(at, "shorter than "+strconv.Itoa(r.minLength))
	}
	if !e.lengthOK(-1, r.maxLength, i) {
		e.invalid(at, "longer than "+strconv.Itoa(r.maxLength))
	}
	if r.pattern != nil && !e.matches(r, i) {
		e.invalid(at, "must match "+brief(strconv.Quote(r.pattern.String())))
	}
	if r.format != nil && !r.format(e.t.Text(i)) {
		name, _ := n.Text("format")
		e.invalid(at, "must have the format "+brief(strictjson.Printable(name)))
	}
	if r.base64 && !isBase64(e.t.Text(i)) {
		e.invalid(at, "must be base64")
	}
}

func (e *explainer) elements(r *rules, i int, at strictjson.Path, m *marks) {
	count := int(e.t.Items[i].Count)
	if count < r.minItems {
		e.invalid(at, "fewer than "+strconv.Itoa(r.minItems)+" entries")
	}
	if r.maxItems >= 0 && count > r.maxItems {
		e.invalid(at, "more than "+strconv.Itoa(r.maxItems)+" entries")
	}
	if r.unique && !e.distinct(i) {
		e.invalid(at, "entries must differ")
	}
	if r.contains != nil && !e.containsOK(r, i, m) {
		e.invalid(at, "number of matching entries")
	}
	if !e.spend(count / 16) {
		return
	}
	place := i + 1
	for k := range count {
		if e.over {
			return
		}
		to := r.rest
		if k < len(r.prefix) {
			to = r.prefix[k]
		}
		if to != nil {
			m.add(k)
			e.below(to, place, at, strconv.Itoa(k))
		}
		place = int(e.t.Items[place].Next)
	}
}

// below explains a member or an element if it is invalid. It creates the longer path only in this
// case.
func (e *explainer) below(n *Node, i int, at strictjson.Path, token string) {
	if !e.ok(n, i, nil) && !e.over {
		e.visit(n, i, at.With(token), nil)
	}
}

func (e *explainer) fields(r *rules, i int, at strictjson.Path, m *marks) {
	count := int(e.t.Items[i].Count)
	if count < r.minFields {
		e.invalid(at, "fewer than "+strconv.Itoa(r.minFields)+" fields")
	}
	if r.maxFields >= 0 && count > r.maxFields {
		e.invalid(at, "more than "+strconv.Itoa(r.maxFields)+" fields")
	}
	e.missing(r.required, i, at)
	for _, need := range r.needs {
		if e.t.Member(i, need.name) != 0 {
			e.missing(need.then, i, at)
		}
	}
	if !e.spend(count / 16) {
		return
	}
	badName, place := false, i+1
	for k := range count {
		if e.over {
			return
		}
		name := e.t.Text(place)
		if r.fieldNames != nil && !e.nameOK(r.fieldNames, place) {
			badName = true
		}
		evaluated := false
		if f := r.fields[name]; f.to != nil {
			evaluated = true
			e.member(f.to, place+1, at, name)
		}
		for _, p := range r.patterns {
			if !e.spend(1 + p.program*(len(name)+1)/256) {
				return
			}
			if p.re.MatchString(name) {
				evaluated = true
				e.member(p.to, place+1, at, name)
			}
		}
		if !evaluated && r.additional != nil {
			evaluated = true
			e.member(r.additional, place+1, at, name)
		}
		if evaluated {
			m.add(k)
		}
		place = int(e.t.Items[place+1].Next)
	}
	if badName {
		e.invalid(at, "a field name is not allowed")
	}
}

// member explains one field. A field that no schema allows is unknown.
func (e *explainer) member(n *Node, i int, at strictjson.Path, name string) {
	if n.rules.refuses {
		unknown := at.With(name)
		e.add(unknown, KindUnknownProperty, "Unknown field: "+strconv.Quote(strings.TrimPrefix(unknown.Short(), "/")))
		return
	}
	e.below(n, i, at, name)
}

func (e *explainer) missing(required []string, i int, at strictjson.Path) {
	if !e.searches(len(required), i) {
		return
	}
	for _, name := range required {
		if e.over {
			return
		}
		if e.t.Member(i, name) == 0 {
			field := at.With(name)
			e.add(field, KindMissingRequired, "Missing required field: "+field.Field())
		}
	}
}

func (e *explainer) unevaluated(r *rules, i int, at strictjson.Path, m *marks) {
	place := i + 1
	for k := range int(e.t.Items[i].Count) {
		if e.over {
			return
		}
		switch e.t.Items[i].Kind {
		case '{':
			if !m.has(k) {
				e.member(r.unevaluatedField, place+1, at, e.t.Text(place))
			}
			place = int(e.t.Items[place+1].Next)
		default:
			if !m.has(k) {
				e.below(r.unevaluatedItems, place, at, strconv.Itoa(k))
			}
			place = int(e.t.Items[place].Next)
		}
	}
}

// inPlaceFaults explains the schemas that apply to the same value.
func (e *explainer) inPlaceFaults(r *rules, i int, at strictjson.Path, m *marks) {
	if r.ref != nil {
		e.visit(r.ref, i, at, m)
	}
	for _, n := range r.all {
		e.visit(n, i, at, m)
	}
	if r.some != nil && !e.anyOK(r.some, i, m) {
		e.branches(r.some, i, at)
	}
	if r.exactly != nil && !e.oneOK(r.exactly, i, m) {
		e.branches(r.exactly, i, at)
	}
	if r.not != nil && e.ok(r.not, i, nil) {
		e.invalid(at, "matches a forbidden form")
	}
	if r.cond != nil {
		branch, next := m.branch(), r.otherwise
		if e.ok(r.cond, i, branch) {
			m.merge(branch)
			next = r.then
		}
		if next != nil {
			e.visit(next, i, at, m)
		}
	}
	if e.t.Items[i].Kind != '{' {
		return
	}
	for _, d := range r.dependent {
		if e.t.Member(i, d.name) != 0 {
			e.visit(d.to, i, at, m)
		}
	}
}

// branches explains why a value fails anyOf or oneOf; its caller has found that it does. So a branch
// that fits means oneOf with several that fit. If all branches want another type, it is a type
// mismatch. If only one branch allows the type, that branch is explained. Otherwise the value
// matches none of them.
func (e *explainer) branches(list []*Node, i int, at strictjson.Path) {
	var sameType []*Node
	for _, n := range list {
		switch {
		case e.ok(n, i, nil):
			e.invalid(at, "matches more than one of the allowed forms")
			return
		case !e.wrongType(n, i):
			sameType = append(sameType, n)
		}
	}
	switch len(sameType) {
	case 0:
		e.add(at, KindTypeMismatch, "Invalid type for field: "+at.Field())
	case 1:
		e.visit(sameType[0], i, at, nil)
	default:
		e.invalid(at, "matches none of the allowed forms")
	}
}

// wrongType reports whether a branch refuses the type of the value.
func (e *explainer) wrongType(n *Node, i int) bool {
	r := n.rules
	if !e.spend(1) || r.kinds != 0 && !e.kindOK(r, i) {
		return true
	}
	return r.ref != nil && e.wrongType(r.ref, i)
}
