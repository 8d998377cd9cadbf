package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// kinds is a set of JSON types.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBool
	isInteger
	isNumber // whole numbers among them
	isString
	isArray
	isObject
)

var kindNames = map[string]kinds{
	"null": isNull, "boolean": isBool, "integer": isInteger, "number": isNumber | isInteger,
	"string": isString, "array": isArray, "object": isObject,
}

// rules are the rules of one schema in a form for the evaluator: the keywords of its draft, with
// their meaning in that draft.
type rules struct {
	cost    int  // steps of one application
	refuses bool // the schema false
	ref     *Node

	kinds kinds // 0: any
	exact bool  // draft-04: 1.0 is no integer
	enum  map[string]bool
	equal string // key of const; "": none

	minimum, maximum, above, below, multiple *bound

	minLength, maxLength int // -1: none
	pattern              *regexp.Regexp
	program              int
	format               func(any) bool
	reading              int // steps per size of reading a text
	base64               bool

	minItems, maxItems       int
	unique                   bool
	prefix                   []*Node
	rest                     *Node // elements after prefix
	contains                 *Node
	minContains, maxContains int
	containsCounts           bool // contains evaluates what it matches (2020-12)

	minFields, maxFields int
	required             []string // all of them, for explanations
	listed               int      // number of required fields that are in fields
	unlisted             []string // required fields that are not in fields
	fields               map[string]fieldRule
	patterns             []patternField
	additional           *Node
	fieldNames           *Node
	needs                []need

	all, some, exactly                 []*Node
	not, cond, then, otherwise         *Node
	dependent                          []dependent
	unevaluatedItems, unevaluatedField *Node

	inPlace bool // something applies subschemas to the same value
}

// fieldRule is one entry of properties.
type fieldRule struct {
	to       *Node
	required bool
}

type patternField struct {
	re      *regexp.Regexp
	program int
	to      *Node
}

// need is one entry of dependentRequired.
type need struct {
	name string
	then []string
}

type dependent struct {
	name string
	to   *Node
}

// bound is a number of the schema.
type bound struct {
	literal string
	small   bool // whole holds it
	whole   int64
	short   bool // float holds it, among all short decimals
	float   float64
	rat     *big.Rat
}

func boundOf(value any) *bound {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	b := &bound{literal: n.String()}
	b.rat, ok = new(big.Rat).SetString(b.literal)
	if !ok {
		return nil
	}
	if b.small = strictjson.PlainInteger([]byte(b.literal)); b.small {
		b.whole = smallInt([]byte(b.literal))
	}
	b.float, b.short = shortDecimal([]byte(b.literal))
	return b
}

// smallInt returns the value of a [PlainInteger].
func smallInt(literal []byte) int64 {
	var v int64
	negative := literal[0] == '-'
	if negative {
		literal = literal[1:]
	}
	for _, c := range literal {
		v = v*10 + int64(c-'0')
	}
	if negative {
		return -v
	}
	return v
}

// cmp compares a literal with the bound.
func (b *bound) cmp(literal []byte) int {
	if b.small && strictjson.PlainInteger(literal) {
		switch v := smallInt(literal); {
		case v < b.whole:
			return -1
		case v > b.whole:
			return 1
		}
		return 0
	}
	if f, short := shortDecimal(literal); short && b.short {
		return cmp.Compare(f, b.float)
	}
	return ratOf(literal).Cmp(b.rat)
}

// shortDecimal parses a literal of at most 15 digits without an exponent. Different literals of
// this form have different float64 values in the same order, so comparing the floats compares the
// literals.
func shortDecimal(literal []byte) (float64, bool) {
	if len(literal) > 16 || bytes.ContainsAny(literal, "eE") {
		return 0, false
	}
	if len(literal) == 16 && !bytes.ContainsAny(literal, ".-") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	return f, err == nil
}

// divides reports whether the literal is an integer multiple of the bound.
func (b *bound) divides(literal []byte) bool {
	if b.small && strictjson.PlainInteger(literal) {
		return smallInt(literal)%b.whole == 0
	}
	return new(big.Rat).Quo(ratOf(literal), b.rat).IsInt()
}

// ratOf returns the exact value. Callers must check that a float64 holds the literal, which bounds
// its exponent.
func ratOf(literal []byte) *big.Rat {
	r, ok := new(big.Rat).SetString(string(literal))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// build sets the rules of n for draft d.
func (n *Node) build(d Draft) {
	n.Draft = d
	r := &rules{
		cost: 1 + n.ownWeight(), reading: 1, ref: n.Ref, refuses: n.Object == nil && !n.Boolean,
		minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minFields: -1, maxFields: -1, minContains: 1, maxContains: -1,
	}
	n.rules = r
	if n.Ref != nil && d.RefAlone() {
		r.inPlace = true
		return
	}
	n.buildValue(r, d)
	n.buildCounts(r)
	n.buildSubs(r, d)
	r.inPlace = r.ref != nil || r.all != nil || r.some != nil || r.exactly != nil || r.not != nil || r.cond != nil || r.dependent != nil
}

func (n *Node) buildValue(r *rules, d Draft) {
	names := n.Names("type")
	if name, ok := n.Text("type"); ok {
		names = []string{name}
	}
	for _, name := range names {
		r.kinds |= kindNames[name]
	}
	r.exact = d == Draft04
	if values, ok := n.Object["enum"].([]any); ok {
		r.enum = make(map[string]bool, len(values))
		for _, value := range values {
			r.enum[keyOf(value)] = true
		}
	}
	if value, ok := n.Object["const"]; ok {
		r.equal = keyOf(value)
	}
	r.minimum, r.maximum = boundOf(n.Object["minimum"]), boundOf(n.Object["maximum"])
	if d == Draft04 {
		if n.Object["exclusiveMinimum"] == true {
			r.above, r.minimum = r.minimum, nil
		}
		if n.Object["exclusiveMaximum"] == true {
			r.below, r.maximum = r.maximum, nil
		}
	} else {
		r.above, r.below = boundOf(n.Object["exclusiveMinimum"]), boundOf(n.Object["exclusiveMaximum"])
	}
	r.multiple = boundOf(n.Object["multipleOf"])
	if pattern, ok := n.Text("pattern"); ok {
		r.pattern = regexp.MustCompile(pattern) // checkPatterns has compiled the pattern
		r.program, _ = programSize(pattern)
	}
	if format, ok := n.Text("format"); ok {
		r.format = formats[format]
		switch {
		case format == "regex":
			r.reading = 100 // the format parses the text
		case r.format != nil:
			r.reading = 10 // a regular expression or an address parser reads the text
		}
	}
	encoding, _ := n.Text("contentEncoding")
	r.base64 = encoding == "base64"
}

func (n *Node) buildCounts(r *rules) {
	for keyword, to := range map[string]*int{
		"minLength": &r.minLength, "maxLength": &r.maxLength, "minItems": &r.minItems, "maxItems": &r.maxItems,
		"minProperties": &r.minFields, "maxProperties": &r.maxFields, "minContains": &r.minContains, "maxContains": &r.maxContains,
	} {
		if count, ok := CountOf(n.Object[keyword]); ok {
			*to = count
		}
	}
	r.unique = n.Object["uniqueItems"] == true
	r.required = n.Names("required")
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		lists, _ := n.Object[keyword].(map[string]any)
		for _, name := range SortedNames(n.Object[keyword]) {
			if members, ok := lists[name].([]any); ok {
				then := need{name: name}
				for _, member := range members {
					text, _ := member.(string)
					then.then = append(then.then, text)
				}
				r.needs = append(r.needs, then)
			}
		}
	}
}

func (n *Node) buildSubs(r *rules, d Draft) {
	for _, s := range n.Subs {
		switch s.Keyword {
		case "properties":
			if r.fields == nil {
				r.fields = make(map[string]fieldRule, len(n.Fields))
			}
			r.fields[s.Name] = fieldRule{to: s.To}
		case "patternProperties":
			size, _ := programSize(s.Name) // checkPatterns has checked the pattern
			r.patterns = append(r.patterns, patternField{regexp.MustCompile(s.Name), size, s.To})
		case "additionalProperties":
			r.additional = s.To
		case "propertyNames":
			r.fieldNames = s.To
		case "dependentSchemas", "dependencies":
			r.dependent = append(r.dependent, dependent{s.Name, s.To})
		case "prefixItems":
			r.prefix = append(r.prefix, s.To)
		case "items":
			if s.Name != "" {
				r.prefix = append(r.prefix, s.To)
			} else {
				r.rest = s.To
			}
		case "contains":
			r.contains, r.containsCounts = s.To, d >= Draft2020
		case "allOf":
			r.all = append(r.all, s.To)
		case "anyOf":
			r.some = append(r.some, s.To)
		case "oneOf":
			r.exactly = append(r.exactly, s.To)
		case "not":
			r.not = s.To
		case "if":
			r.cond = s.To
		case "then":
			r.then = s.To
		case "else":
			r.otherwise = s.To
		case "unevaluatedItems":
			r.unevaluatedItems = s.To
		case "unevaluatedProperties":
			r.unevaluatedField = s.To
		}
	}
	if extra := n.AdditionalItems(); extra != nil {
		r.rest = extra
	}
	for _, name := range r.required {
		if f, ok := r.fields[name]; ok && !f.required {
			r.fields[name] = fieldRule{f.to, true}
			r.listed++
		} else if !ok {
			r.unlisted = append(r.unlisted, name)
		}
	}
}

// AdditionalItems returns the schema of additionalItems, which has a meaning only beside a list of
// items.
func (n *Node) AdditionalItems() *Node {
	if _, tuple := n.Object["items"].([]any); !tuple {
		return nil
	}
	i := slices.IndexFunc(n.Subs, func(s Sub) bool { return s.Keyword == "additionalItems" })
	if i < 0 {
		return nil
	}
	return n.Subs[i].To
}
