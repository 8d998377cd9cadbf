package schema

import (
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// bound counts the bytes of a written document, because a schema may be written at many places.
type bound struct {
	bytes int
	sizes map[*jsonschema.Node]int // of each schema, without its subschemas
}

// full reports whether the written document is too large.
func (b *bound) full() bool { return b.bytes > jsonschema.MaxDocumentBytes }

// add counts one schema without its subschemas.
func (b *bound) add(n *jsonschema.Node) {
	size, known := b.sizes[n]
	if !known {
		size = sizeOf(n)
		if b.sizes == nil {
			b.sizes = map[*jsonschema.Node]int{}
		}
		b.sizes[n] = size
	}
	b.bytes += size
}

// sizeOf returns the size of the names, annotations and rules of n that a target may get.
func sizeOf(n *jsonschema.Node) int {
	size := 0
	for name := range n.Fields {
		size += len(name)
	}
	for keyword, value := range n.Object {
		if keyword != "description" && keyword != "title" && jsonschema.RoleOf(keyword) != jsonschema.Asserts {
			continue
		}
		raw, _ := strictjson.Encode(value) // the value was decoded from JSON
		size += len(raw)
	}
	return size
}
