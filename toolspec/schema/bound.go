package schema

import (
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// bound counts the bytes of what is written, where a schema may be written at many
// places.
type bound struct {
	bytes int
	sizes map[*jsonschema.Node]int // of each schema, without its subschemas
}

// full reports whether more was written than a document may have.
func (b *bound) full() bool { return b.bytes > jsonschema.MaxDocumentBytes }

// add counts one schema, without its subschemas.
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

// sizeOf is the size of the names, the annotations and the rules that a target may
// be sent of n.
func sizeOf(n *jsonschema.Node) int {
	size := 0
	for name := range n.Fields {
		size += len(name)
	}
	for keyword, value := range n.Object {
		if keyword != "description" && keyword != "title" && jsonschema.RoleOf(keyword) != jsonschema.Asserts {
			continue
		}
		raw, _ := strictjson.Encode(value) // it was read as JSON
		size += len(raw)
	}
	return size
}
