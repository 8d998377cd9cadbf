package openapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// maxSchemaNodes bounds the schemas of one operation, after references are resolved.
const maxSchemaNodes = 20_000

// maxValueNodes bounds the nodes of all values in the schemas of one operation, such as enum and default.
const maxValueNodes = 100_000

var (
	errLarge = fmt.Errorf("has more than %d schemas with all that it refers to", maxSchemaNodes)
	errFile  = errors.New("is a file, which an argument or a value in JSON cannot be")
)

// schemas converts schemas of one direction of an operation to JSON Schema 2020-12. defs has the
// schemas that references lead to.
type schemas struct {
	doc *doc
	// input says that the schemas are of arguments: properties with readOnly are left out. In schemas of
	// values, properties with writeOnly are left out.
	input bool
	// maxRefs bounds the references below one another: deeper schemas accept any value. 0 is no bound.
	maxRefs int
	// plain leaves out patterns.
	plain bool

	defs  object
	names map[string]string // of defs, by pointer
	count int
	// harmless are the names that look like credentials and are kept.
	harmless map[string]bool
	// here is the outermost schema of the value that is converted: the schema itself, or the schema whose allOf has it as a part.
	here place
	// hidden are the names of the properties that are left out of a value, by its outermost schema.
	hidden map[*yaml.Node]map[string]bool
	// looks counts the schemas and properties that hiddenNames has read.
	looks int
	// dropped are the pointers of properties whose names look like credentials. tainted are the
	// objects without them.
	dropped []string
	tainted map[*object]bool
	// values is how many nodes the values of keywords may still have.
	values int
	pruned bool
}

func (d *doc) schemas(input bool) *schemas {
	return &schemas{
		doc: d, input: input, names: map[string]string{}, harmless: map[string]bool{}, hidden: map[*yaml.Node]map[string]bool{},
		values: maxValueNodes, tainted: map[*object]bool{},
	}
}

var defName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// inline converts the schema that a place has or refers to, without a reference at its root.
func (s *schemas) inline(p place, depth int) (any, error) {
	target, err := s.doc.follow(p)
	if err != nil {
		return nil, s.fault(p, err)
	}
	return s.outermost(target, depth)
}

// outermost is body for the outermost schema of a value.
func (s *schemas) outermost(p place, depth int) (any, error) {
	here := s.here
	defer func() { s.here = here }()
	s.here = p
	return s.body(p, depth)
}

func (s *schemas) fault(p place, err error) error { return &fault{p.at, err.Error()} }

// convert converts a schema.
func (s *schemas) convert(p place, depth int) (any, error) {
	if !s.here.there() {
		defer func() { s.here = place{} }()
		s.here = p
	}
	if !p.get("$ref").there() {
		return s.body(p, depth)
	}
	target, err := s.doc.follow(p)
	if err != nil {
		return nil, s.fault(p, err)
	}
	if s.maxRefs > 0 && depth/refDepth >= s.maxRefs {
		s.pruned = true
		return &object{}, nil
	}
	name, known := s.names[target.at]
	if !known {
		base := target.at[strings.LastIndex(target.at, "/")+1:]
		name = strings.Trim(defName.ReplaceAllString(base, "_"), "_")
		if _, taken := s.defs.get(name); taken || name == "" {
			name += "_" + strconv.Itoa(len(s.defs))
		}
		s.names[target.at] = name
		s.defs.add(name, true)
		body, err := s.outermost(target, depth+refDepth)
		if err != nil {
			return nil, err
		}
		s.defs.set(name, body)
	}
	out := object{}
	if s.doc.is31() { // older dialects ignore what is beside $ref
		beside, err := s.body(place{without(p.n, "$ref"), p.at}, depth)
		if err != nil {
			return nil, err
		}
		if o, ok := beside.(*object); ok {
			out = *o
		}
	}
	out.add("$ref", "#/$defs/"+name)
	return &out, nil
}

// refDepth is what a reference adds to the depth, so that one number counts both.
const refDepth = 1 << 10

// maxRefDepth bounds the references below one another.
const maxRefDepth = 200

// body converts the keywords of a schema.
func (s *schemas) body(p place, depth int) (any, error) {
	if s.count++; s.count > maxSchemaNodes {
		return nil, s.fault(p, errLarge)
	}
	if depth%refDepth > maxDepth || depth/refDepth > maxRefDepth {
		return nil, s.fault(p, errDeep)
	}
	if !p.isMap() {
		return p.text() != "false", nil
	}
	out, here := &object{}, s.here
	defer func() { s.here = here }()
	for key, v := range p.members() {
		if s.here = (place{}); key == "allOf" {
			s.here = here
		}
		switch {
		case key == "properties":
			properties, err := s.properties(v, out, depth)
			if err != nil {
				return nil, err
			}
			out.add(key, properties)
		case key == "required" && v.n.Kind == seq, key == "nullable", key == "x-nullable":
		case key == "type" && v.text() == "file":
			return nil, s.fault(p, errFile)
		case strings.HasPrefix(key, "$dynamic"), strings.HasPrefix(key, "$recursive"):
			return nil, s.fault(p, errors.New("has dynamic references"))
		case slices.Contains(dropped, key), s.plain && (key == "pattern" || key == "patternProperties"):
		case (key == "exclusiveMinimum" || key == "exclusiveMaximum") && !s.doc.is31():
			if bound := p.get(strings.ToLower(key[9:])); v.is() && bound.there() {
				out.add(key, scalar(bound))
			}
		case (key == "minimum" || key == "maximum") && !s.doc.is31() && p.get("exclusive"+strings.ToUpper(key[:1])+key[1:]).is():
		default:
			if err := s.keyword(out, key, v, depth); err != nil {
				return nil, err
			}
		}
	}
	s.here = here
	if err := s.require(p, out); err != nil {
		return nil, err
	}
	return s.nullable(p, out), nil
}

// dropped are keywords that mean nothing here.
var dropped = []string{"$id", "$anchor", "$schema", "$comment", "$vocabulary", "id", "examples", "example", "readOnly", "writeOnly", "deprecated", "contentSchema"}

// keyword converts a keyword that holds schemas, and copies any other that JSON Schema has.
func (s *schemas) keyword(out *object, key string, v place, depth int) (err error) {
	var value any
	switch {
	case jsonschema.RoleOf(key) == 0:
		return nil
	case !jsonschema.HoldsSchemas(key):
		value, err = raw(v, 0, &s.values)
	case jsonschema.HoldsTable(key):
		table := &object{}
		for name, member := range v.members() {
			converted, err := s.convert(member, depth+1)
			if err != nil {
				return err
			}
			table.set(name, converted)
		}
		value = table
	case v.n.Kind == seq:
		list := []any{}
		for _, e := range v.elements() {
			converted, err := s.convert(e, depth+1)
			if err != nil {
				return err
			}
			list = append(list, converted)
		}
		value = list
	default:
		value, err = s.convert(v, depth+1)
	}
	if err == nil {
		out.set(key, value)
	}
	return err
}

// properties converts the properties of owner, without those that are left out.
func (s *schemas) properties(p place, owner *object, depth int) (*object, error) {
	out := &object{}
	for name, member := range p.members() {
		target, err := s.doc.follow(member)
		if err != nil {
			return nil, s.fault(member, err)
		}
		switch {
		case s.isHidden(target):
			continue
		case s.isSecret(name):
			s.dropped = append(s.dropped, member.at)
			s.tainted[owner] = true
			continue
		}
		s.noteHarmless(name)
		converted, err := s.convert(member, depth+1)
		if err != nil {
			return nil, err
		}
		out.set(name, converted)
	}
	return out, nil
}

// nullable adds null to a schema with nullable of OpenAPI 3.0, or x-nullable of Swagger.
func (s *schemas) nullable(p place, out *object) any {
	if s.doc.is31() || !p.get("nullable").is() && !p.get("x-nullable").is() {
		return out
	}
	if list, ok := out.get("enum"); ok {
		if values, ok := list.([]any); ok && !slices.Contains(values, nil) {
			out.set("enum", append(slices.Clone(values), nil))
		}
	}
	if kind, ok := out.get("type"); ok {
		out.set("type", []any{kind, "null"})
		return out
	}
	return &object{{"anyOf", []any{out, &object{{"type", "null"}}}}}
}
