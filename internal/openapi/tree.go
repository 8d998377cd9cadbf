package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/sanitize"
)

const (
	// maxHops bounds the references that are followed from one to the next.
	maxHops = 32
	// maxDepth bounds the depth of schemas and values.
	maxDepth = 64
)

var (
	errRemote  = errors.New("refers to another document, and nothing is fetched")
	errNowhere = errors.New("refers to a place that the document does not have")
	errLoop    = errors.New("refers to itself")
	errValues  = fmt.Errorf("has more than %d values with all that its aliases repeat", maxValueNodes)
	errDeep    = fmt.Errorf("is deeper than %d levels", maxDepth)
)

// place is a node of the document, with its JSON pointer.
type place struct {
	n  *yaml.Node
	at string
}

// there reports whether the document has the place.
func (p place) there() bool { return p.n != nil }

func (p place) isMap() bool { return p.n != nil && p.n.Kind == yaml.MappingNode }

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

func token(name string) string { return "/" + escapes.Replace(name) }

// resolved returns the node that an alias of YAML stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for range maxHops {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// members yields the members of a mapping, in the order of the document.
func (p place) members() iter.Seq2[string, place] {
	return func(yield func(string, place) bool) {
		if !p.isMap() {
			return
		}
		for i := 0; i+1 < len(p.n.Content); i += 2 {
			name := p.n.Content[i].Value
			if !yield(name, place{resolved(p.n.Content[i+1]), p.at + token(name)}) {
				return
			}
		}
	}
}

// elements yields the elements of a list.
func (p place) elements() iter.Seq2[int, place] {
	return func(yield func(int, place) bool) {
		if p.n == nil || p.n.Kind != yaml.SequenceNode {
			return
		}
		for i, n := range p.n.Content {
			if !yield(i, place{resolved(n), p.at + "/" + strconv.Itoa(i)}) {
				return
			}
		}
	}
}

// get returns a member, or a place that is not there.
func (p place) get(name string) place {
	if p.isMap() {
		for i := 0; i+1 < len(p.n.Content); i += 2 {
			if p.n.Content[i].Value == name {
				return place{resolved(p.n.Content[i+1]), p.at + token(name)}
			}
		}
	}
	return place{at: p.at + token(name)}
}

// text returns the text of a scalar, or "".
func (p place) text() string {
	if p.n == nil || p.n.Kind != yaml.ScalarNode {
		return ""
	}
	return p.n.Value
}

// is reports whether a place is the boolean true.
func (p place) is() bool { return p.text() == "true" }

// texts returns the texts of a list.
func (p place) texts() (all []string) {
	for _, e := range p.elements() {
		all = append(all, e.text())
	}
	return all
}

// follow returns the place that a reference leads to; a place without $ref is itself.
func (d *doc) follow(p place) (place, error) {
	for range maxHops {
		ref := p.get("$ref")
		if !p.isMap() || !ref.there() || ref.n.Kind != yaml.ScalarNode {
			return p, nil
		}
		next, err := d.find(ref.text())
		if err != nil {
			return p, err
		}
		p = next
	}
	return p, errLoop
}

// find returns the place of a reference into the document.
func (d *doc) find(ref string) (place, error) {
	if p, known := d.found[ref]; known {
		return p, nil
	}
	p, err := d.search(ref)
	if err == nil {
		d.found[ref] = p
	}
	return p, err
}

func (d *doc) search(ref string) (place, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return place{}, errRemote
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil || !strings.HasPrefix(pointer, "/") {
		return place{}, errNowhere
	}
	p := d.root
	for part := range strings.SplitSeq(pointer[1:], "/") {
		name := unescapes.Replace(part)
		if index, err := strconv.Atoi(name); err == nil && p.there() && p.n.Kind == yaml.SequenceNode {
			if index < 0 || index >= len(p.n.Content) {
				return place{}, errNowhere
			}
			p = place{resolved(p.n.Content[index]), p.at + "/" + name}
			continue
		}
		if p = p.get(name); !p.there() {
			return place{}, errNowhere
		}
	}
	return p, nil
}

// seq is the kind of a list.
const seq = yaml.SequenceNode

// without returns a mapping without a member.
func without(n *yaml.Node, name string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			out.Content = append(out.Content, n.Content[i], n.Content[i+1])
		}
	}
	return out
}

// object is a JSON object with the order of its members.
type object []entry

type entry struct {
	name  string
	value any
}

var errHidden = errors.New("has hidden characters or markers of chat formats outside of descriptions")

// encodeSchema writes a schema as JSON, with clean descriptions.
func encodeSchema(v any) (json.RawMessage, error) {
	doc, err := encode(v)
	if err != nil {
		return nil, err
	}
	doc, hidden := sanitize.Schema(doc)
	if hidden {
		return nil, errHidden
	}
	return doc, nil
}

// encode writes a value as JSON, with the members of objects in their order.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return b.Bytes(), err
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *object:
		return write(b, *v)
	case object:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, e.name); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := write(b, e.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(text)
	}
	return nil
}

func (o *object) get(name string) (any, bool) {
	for _, e := range *o {
		if e.name == name {
			return e.value, true
		}
	}
	return nil, false
}

func (o *object) add(name string, value any) { *o = append(*o, entry{name, value}) }

func (o *object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	o.add(name, value)
}

// raw returns a value of the document as JSON. left is how many nodes it may have: aliases of YAML can make a short
// document a value of any size.
func raw(p place, depth int, left *int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if *left--; *left < 0 {
		return nil, errValues
	}
	if !p.there() {
		return nil, nil //nolint:nilnil // null is a value
	}
	switch p.n.Kind {
	case yaml.MappingNode:
		out := object{}
		for name, member := range p.members() {
			v, err := raw(member, depth+1, left)
			if err != nil {
				return nil, err
			}
			out.set(name, v)
		}
		return out, nil
	case yaml.SequenceNode:
		out := []any{}
		for _, e := range p.elements() {
			v, err := raw(e, depth+1, left)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	default:
		return scalar(p), nil
	}
}

// scalar returns a scalar as JSON. What YAML reads as a date is a text.
func scalar(p place) any {
	switch p.n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(p.n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(p.n.Value)) {
			return json.Number(p.n.Value)
		}
		if f, err := strconv.ParseFloat(p.n.Value, 64); err == nil {
			if text, err := json.Marshal(f); err == nil {
				return json.Number(text)
			}
		}
	}
	return p.n.Value
}

// emptyMap is the schema of any value.
var emptyMap = &yaml.Node{Kind: yaml.MappingNode}
