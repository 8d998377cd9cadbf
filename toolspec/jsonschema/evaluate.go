package jsonschema

import (
	"bytes"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// evaluator decides whether an instance is valid. It gives no reasons; explainer finds them.
type evaluator struct {
	t       *strictjson.Tape
	left    int  // steps
	bounded bool // steps count
	over    bool // no steps are left, so no verdict counts
}

// ok reports whether the value at i is valid under n. n and the schemas that it applies in place
// mark in m what they evaluate. If ok returns false, m has no meaning.
func (e *evaluator) ok(n *Node, i int, m *marks) bool {
	r := n.rules
	if !e.spend(r.cost) || r.refuses {
		return false
	}
	it := e.t.Items[i]
	if r.kinds != 0 && !e.kindOK(r, i) || r.enum != nil && !e.inEnum(r, i) || r.equal != "" && !e.isConst(r, i) {
		return false
	}
	if r.unevaluatedField != nil && it.Kind == '{' || r.unevaluatedItems != nil && it.Kind == '[' {
		own := new(marks)
		if r.inPlace && !e.inPlace(r, i, own) || !e.content(r, i, own) || !e.unevaluatedOK(r, i, own) {
			return false
		}
		m.addAll()
		return true
	}
	return (!r.inPlace || e.inPlace(r, i, m)) && e.content(r, i, m)
}

// content applies the rules for the type of the value.
func (e *evaluator) content(r *rules, i int, m *marks) bool {
	switch e.t.Items[i].Kind {
	case '{':
		return e.object(r, i, m)
	case '[':
		return e.array(r, i, m)
	case '"':
		return e.text(r, i)
	case '0':
		return e.number(r, e.t.Bytes(i))
	default:
		return true
	}
}

func (e *evaluator) kindOK(r *rules, i int) bool {
	is := isBool
	switch e.t.Items[i].Kind {
	case '{':
		is = isObject
	case '[':
		is = isArray
	case '"':
		is = isString
	case 'n':
		is = isNull
	case '0':
		return r.kinds&isNumber != 0 || r.kinds&isInteger != 0 && isWhole(e.t.Bytes(i), r.exact)
	}
	return r.kinds&is != 0
}

// isWhole reports whether a number is an integer. 1.0 is an integer, except in draft-04.
func isWhole(literal []byte, exact bool) bool {
	switch {
	case strictjson.PlainInteger(literal):
		return true
	case exact:
		return !bytes.ContainsAny(literal, ".eE")
	default:
		return strictjson.ParseDecimal(string(literal)).IsInteger()
	}
}

func (e *evaluator) isConst(r *rules, i int) bool {
	if !e.spend(e.size(i)) {
		return false
	}
	e.t.Scratch = appendKey(e.t.Scratch[:0], e.t, i)
	return string(e.t.Scratch) == r.equal
}

func (e *evaluator) inEnum(r *rules, i int) bool {
	if !e.spend(e.size(i)) {
		return false
	}
	e.t.Scratch = appendKey(e.t.Scratch[:0], e.t, i)
	return r.enum[string(e.t.Scratch)]
}

func (e *evaluator) number(r *rules, literal []byte) bool {
	return (r.minimum == nil || r.minimum.cmp(literal) >= 0) && (r.maximum == nil || r.maximum.cmp(literal) <= 0) &&
		(r.above == nil || r.above.cmp(literal) > 0) && (r.below == nil || r.below.cmp(literal) < 0) &&
		(r.multiple == nil || r.multiple.divides(literal))
}

func (e *evaluator) text(r *rules, i int) bool {
	if r.minLength < 0 && r.maxLength < 0 && r.pattern == nil && r.format == nil && !r.base64 {
		return true
	}
	if !e.spend(e.size(i)*r.reading) || !e.lengthOK(r.minLength, r.maxLength, i) {
		return false
	}
	return (r.pattern == nil || e.matches(r, i)) && (r.format == nil || r.format(e.t.Text(i))) && (!r.base64 || isBase64(e.t.Text(i)))
}

// lengthOK checks the length of a string, in characters.
func (e *evaluator) lengthOK(low, high, i int) bool {
	if low < 0 && high < 0 {
		return true
	}
	length := utf8.RuneCount(e.t.Bytes(i))
	if e.t.Items[i].Escaped {
		length = utf8.RuneCountInString(e.t.Text(i))
	}
	return length >= low && (high < 0 || length <= high)
}

func (e *evaluator) matches(r *rules, i int) bool {
	text := e.t.Bytes(i)
	if e.t.Items[i].Escaped {
		text = []byte(e.t.Text(i))
	}
	return e.spend(r.program*(len(text)+1)/256) && r.pattern.Match(text)
}

func (e *evaluator) array(r *rules, i int, m *marks) bool {
	count := int(e.t.Items[i].Count)
	if count < r.minItems || r.maxItems >= 0 && count > r.maxItems || r.unique && !e.distinct(i) {
		return false
	}
	if r.prefix != nil || r.rest != nil {
		if !e.spend(count / 16) {
			return false
		}
		at := i + 1
		for k := range count {
			to := r.rest
			if k < len(r.prefix) {
				to = r.prefix[k]
			}
			if to != nil {
				if !e.ok(to, at, nil) {
					return false
				}
				m.add(k)
			}
			at = int(e.t.Items[at].Next)
		}
	}
	return r.contains == nil || e.containsOK(r, i, m)
}

func (e *evaluator) containsOK(r *rules, i int, m *marks) bool {
	found, at := 0, i+1
	for k := range int(e.t.Items[i].Count) {
		if e.ok(r.contains, at, nil) {
			found++
			if r.containsCounts {
				m.add(k)
			}
		}
		at = int(e.t.Items[at].Next)
	}
	return found >= r.minContains && (r.maxContains < 0 || found <= r.maxContains)
}

// distinct reports whether all elements are different.
func (e *evaluator) distinct(i int) bool {
	count := int(e.t.Items[i].Count)
	if count < 2 || !e.spend(count/8+e.size(i)) {
		return !e.over
	}
	seen := make(map[string]struct{}, count)
	for at := i + 1; at < int(e.t.Items[i].Next); at = int(e.t.Items[at].Next) {
		e.t.Scratch = appendKey(e.t.Scratch[:0], e.t, at)
		if _, twice := seen[string(e.t.Scratch)]; twice {
			return false
		}
		seen[string(e.t.Scratch)] = struct{}{}
	}
	return true
}

func (e *evaluator) object(r *rules, i int, m *marks) bool {
	count := int(e.t.Items[i].Count)
	if count < r.minFields || r.maxFields >= 0 && count > r.maxFields {
		return false
	}
	present := 0 // number of listed required fields that are present
	if r.fields != nil || r.patterns != nil || r.additional != nil || r.fieldNames != nil {
		if !e.spend(count / 16) {
			return false
		}
		at := i + 1
		for k := range count {
			f, evaluated, ok := e.field(r, at)
			if !ok {
				return false
			}
			if evaluated {
				m.add(k)
			}
			if f.required {
				present++
			}
			at = int(e.t.Items[at+1].Next)
		}
	}
	if present < r.listed {
		return false
	}
	if !e.searches(len(r.unlisted)+len(r.needs), i) {
		return false
	}
	for _, name := range r.unlisted {
		if e.t.Member(i, name) == 0 {
			return false
		}
	}
	for _, need := range r.needs {
		if e.t.Member(i, need.name) == 0 {
			continue
		}
		if !e.searches(len(need.then), i) {
			return false
		}
		for _, name := range need.then {
			if e.t.Member(i, name) == 0 {
				return false
			}
		}
	}
	return true
}

// field applies the rules of r to the member whose name is at i.
func (e *evaluator) field(r *rules, i int) (f fieldRule, evaluated, ok bool) {
	if r.fieldNames != nil && !e.nameOK(r.fieldNames, i) {
		return f, false, false
	}
	if e.t.Items[i].Escaped {
		if !e.spend(e.size(i)) {
			return f, false, false
		}
		f = r.fields[e.t.Text(i)]
	} else {
		f = r.fields[string(e.t.Bytes(i))]
	}
	if f.to != nil {
		if !e.ok(f.to, i+1, nil) {
			return f, true, false
		}
		evaluated = true
	}
	if r.patterns != nil {
		name := e.t.Text(i)
		for _, p := range r.patterns {
			if !e.spend(1 + p.program*(len(name)+1)/256) {
				return f, false, false
			}
			if p.re.MatchString(name) {
				if evaluated = true; !e.ok(p.to, i+1, nil) {
					return f, true, false
				}
			}
		}
	}
	if !evaluated && r.additional != nil {
		return f, true, e.ok(r.additional, i+1, nil)
	}
	return f, evaluated, true
}

// nameOK applies a schema to the name of a member, as a string.
func (e *evaluator) nameOK(n *Node, i int) bool {
	e.t.Items[i].Kind = '"'
	ok := e.ok(n, i, nil)
	e.t.Items[i].Kind = 'k'
	return ok
}

// inPlace applies the schemas that apply to the same value.
func (e *evaluator) inPlace(r *rules, i int, m *marks) bool {
	if r.ref != nil && !e.ok(r.ref, i, m) {
		return false
	}
	for _, n := range r.all {
		if !e.ok(n, i, m) {
			return false
		}
	}
	if r.some != nil && !e.anyOK(r.some, i, m) || r.exactly != nil && !e.oneOK(r.exactly, i, m) {
		return false
	}
	if r.not != nil && e.ok(r.not, i, nil) {
		return false
	}
	if r.cond != nil && !e.condOK(r, i, m) {
		return false
	}
	if e.t.Items[i].Kind == '{' && e.searches(len(r.dependent), i) {
		for _, d := range r.dependent {
			if e.t.Member(i, d.name) != 0 && !e.ok(d.to, i, m) {
				return false
			}
		}
	}
	return !e.over
}

func (e *evaluator) anyOK(list []*Node, i int, m *marks) bool {
	found := false
	for _, n := range list {
		branch := m.branch()
		if e.ok(n, i, branch) {
			if found = true; m == nil {
				return true
			}
			m.merge(branch)
		}
	}
	return found
}

func (e *evaluator) oneOK(list []*Node, i int, m *marks) bool {
	found := 0
	for _, n := range list {
		branch := m.branch()
		if e.ok(n, i, branch) {
			if found++; found > 1 {
				return false
			}
			m.merge(branch)
		}
	}
	return found == 1
}

func (e *evaluator) condOK(r *rules, i int, m *marks) bool {
	branch := m.branch()
	next := r.otherwise
	if e.ok(r.cond, i, branch) {
		m.merge(branch)
		next = r.then
	}
	return next == nil || e.ok(next, i, m)
}

// unevaluatedOK applies the unevaluated keywords to the members and elements that no schema has
// marked.
func (e *evaluator) unevaluatedOK(r *rules, i int, m *marks) bool {
	to, step := r.unevaluatedItems, 0
	if e.t.Items[i].Kind == '{' {
		to, step = r.unevaluatedField, 1
	}
	if to == nil {
		return true
	}
	if !e.spend(int(e.t.Items[i].Count) / 16) {
		return false
	}
	at := i + 1
	for k := range int(e.t.Items[i].Count) {
		if !m.has(k) && !e.ok(to, at+step, nil) {
			return false
		}
		at = int(e.t.Items[at+step].Next)
	}
	return true
}
