package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
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

// rules are what one schema demands, laid out for the evaluator: the keywords
// that its draft knows, with the meaning that they have there.
type rules struct {
	cost    int  // steps of one application
	refuses bool // the schema false
	ref     *node

	kinds kinds // 0: any
	exact bool  // draft-04: 1.0 is no integer
	enum  map[string]bool
	equal string // key of const; "": none

	minimum, maximum, above, below, multiple *bound

	minLength, maxLength int // -1: none
	pattern              *regexp.Regexp
	program              int
	format               func(any) bool
	reading              int // how often it costs to read a text
	base64               bool

	minItems, maxItems       int
	unique                   bool
	prefix                   []*node
	rest                     *node // elements behind prefix
	contains                 *node
	minContains, maxContains int
	containsCounts           bool // contains evaluates what it matches (2020-12)

	minFields, maxFields int
	required             []string // all of them, for explanations
	listed               int      // how many of them stand in fields
	unlisted             []string // the others
	fields               map[string]fieldRule
	patterns             []patternField
	additional           *node
	fieldNames           *node
	needs                []need

	all, some, exactly                 []*node
	not, cond, then, otherwise         *node
	dependent                          []dependent
	unevaluatedItems, unevaluatedField *node

	inPlace bool // something applies subschemas to the same value
}

// fieldRule is one entry of properties.
type fieldRule struct {
	to       *node
	required bool
}

type patternField struct {
	re      *regexp.Regexp
	program int
	to      *node
}

// need is one entry of dependentRequired.
type need struct {
	name string
	then []string
}

type dependent struct {
	name string
	to   *node
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
	if b.small = PlainInteger([]byte(b.literal)); b.small {
		b.whole = smallInt([]byte(b.literal))
	}
	b.float, b.short = shortDecimal([]byte(b.literal))
	return b
}

// cmp compares a literal with the bound.
func (b *bound) cmp(literal []byte) int {
	if b.small && PlainInteger(literal) {
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

// shortDecimal reads a literal of at most 15 digits without exponent. No two
// such decimals have the same float64, and the order is kept, so that comparing
// floats compares what was written.
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

// divides reports whether the literal is a whole multiple of the bound.
func (b *bound) divides(literal []byte) bool {
	if b.small && PlainInteger(literal) {
		return smallInt(literal)%b.whole == 0
	}
	return new(big.Rat).Quo(ratOf(literal), b.rat).IsInt()
}

// ratOf is exact; callers have seen that a float64 holds the literal, which
// bounds its exponent.
func ratOf(literal []byte) *big.Rat {
	r, ok := new(big.Rat).SetString(string(literal))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// build lays out n for draft d.
func (n *node) build(d Draft) {
	n.draft = d
	r := &rules{
		cost: 1 + n.ownWeight(), reading: 1, ref: n.ref, refuses: n.object == nil && !n.boolean,
		minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minFields: -1, maxFields: -1, minContains: 1, maxContains: -1,
	}
	n.rules = r
	if n.ref != nil && d.refAlone() {
		r.inPlace = true
		return
	}
	n.buildValue(r, d)
	n.buildCounts(r)
	n.buildSubs(r, d)
	r.inPlace = r.ref != nil || r.all != nil || r.some != nil || r.exactly != nil || r.not != nil || r.cond != nil || r.dependent != nil
}

func (n *node) buildValue(r *rules, d Draft) {
	names := n.names("type")
	if name, ok := n.text("type"); ok {
		names = []string{name}
	}
	for _, name := range names {
		r.kinds |= kindNames[name]
	}
	r.exact = d == Draft04
	if values, ok := n.object["enum"].([]any); ok {
		r.enum = make(map[string]bool, len(values))
		for _, value := range values {
			r.enum[keyOf(value)] = true
		}
	}
	if value, ok := n.object["const"]; ok {
		r.equal = keyOf(value)
	}
	r.minimum, r.maximum = boundOf(n.object["minimum"]), boundOf(n.object["maximum"])
	if d == Draft04 {
		if n.object["exclusiveMinimum"] == true {
			r.above, r.minimum = r.minimum, nil
		}
		if n.object["exclusiveMaximum"] == true {
			r.below, r.maximum = r.maximum, nil
		}
	} else {
		r.above, r.below = boundOf(n.object["exclusiveMinimum"]), boundOf(n.object["exclusiveMaximum"])
	}
	r.multiple = boundOf(n.object["multipleOf"])
	if pattern, ok := n.text("pattern"); ok {
		r.pattern = regexp.MustCompile(pattern) // checkPatterns has compiled it
		r.program, _ = programSize(pattern)
	}
	if format, ok := n.text("format"); ok {
		if r.format = formats[format]; format == "regex" {
			r.reading = 100 // it is parsed
		}
	}
	encoding, _ := n.text("contentEncoding")
	r.base64 = encoding == "base64"
}

func (n *node) buildCounts(r *rules) {
	for keyword, to := range map[string]*int{
		"minLength": &r.minLength, "maxLength": &r.maxLength, "minItems": &r.minItems, "maxItems": &r.maxItems,
		"minProperties": &r.minFields, "maxProperties": &r.maxFields, "minContains": &r.minContains, "maxContains": &r.maxContains,
	} {
		if count, ok := countOf(n.object[keyword]); ok {
			*to = count
		}
	}
	r.unique = n.object["uniqueItems"] == true
	r.required = n.names("required")
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		lists, _ := n.object[keyword].(map[string]any)
		for _, name := range sortedNames(n.object[keyword]) {
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

func (n *node) buildSubs(r *rules, d Draft) {
	for _, s := range n.subs {
		switch s.keyword {
		case "properties":
			if r.fields == nil {
				r.fields = make(map[string]fieldRule, len(n.fields))
			}
			r.fields[s.token] = fieldRule{to: s.to}
		case "patternProperties":
			size, _ := programSize(s.token) // checkPatterns has seen it
			r.patterns = append(r.patterns, patternField{regexp.MustCompile(s.token), size, s.to})
		case "additionalProperties":
			r.additional = s.to
		case "propertyNames":
			r.fieldNames = s.to
		case "dependentSchemas", "dependencies":
			r.dependent = append(r.dependent, dependent{s.token, s.to})
		case "prefixItems":
			r.prefix = append(r.prefix, s.to)
		case "items":
			if s.token != "" {
				r.prefix = append(r.prefix, s.to)
			} else {
				r.rest = s.to
			}
		case "contains":
			r.contains, r.containsCounts = s.to, d >= Draft2020
		case "allOf":
			r.all = append(r.all, s.to)
		case "anyOf":
			r.some = append(r.some, s.to)
		case "oneOf":
			r.exactly = append(r.exactly, s.to)
		case "not":
			r.not = s.to
		case "if":
			r.cond = s.to
		case "then":
			r.then = s.to
		case "else":
			r.otherwise = s.to
		case "unevaluatedItems":
			r.unevaluatedItems = s.to
		case "unevaluatedProperties":
			r.unevaluatedField = s.to
		}
	}
	if extra := n.additionalItems(); extra != nil {
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

// additionalItems counts beside a list of items only.
func (n *node) additionalItems() *node {
	if _, tuple := n.object["items"].([]any); !tuple {
		return nil
	}
	i := slices.IndexFunc(n.subs, func(s sub) bool { return s.keyword == "additionalItems" })
	if i < 0 {
		return nil
	}
	return n.subs[i].to
}
