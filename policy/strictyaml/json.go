package strictyaml

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// JSON reads a JSON value. It keeps the order of members and the notation of numbers. It returns
// false if the value is not JSON.
func (r *Reader) JSON(n *yaml.Node, path string) (json.RawMessage, bool) {
	var b strings.Builder
	before := len(r.Faults())
	r.writeJSON(&b, n, path)
	if len(r.Faults()) > before {
		return nil, false
	}
	return json.RawMessage(b.String()), true
}

// writeJSON writes the value of a node to b as JSON. After a fault, what it has written is not valid.
func (r *Reader) writeJSON(b *strings.Builder, n *yaml.Node, path string) {
	first := true
	comma := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		r.Entries(n, path, Unlimited, func(key string, _, value *yaml.Node) {
			comma()
			b.WriteString(quoteJSON(key) + ":")
			r.writeJSON(b, value, Join(path, key))
		})
		b.WriteByte('}')
		return
	case yaml.SequenceNode:
		b.WriteByte('[')
		r.List(n, path, Unlimited, func(n *yaml.Node, path string) {
			comma()
			r.writeJSON(b, n, path)
		})
		b.WriteByte(']')
		return
	default:
	}
	if !r.Plain(n, path) {
		return
	}
	switch n.ShortTag() {
	case "!!str":
		b.WriteString(quoteJSON(n.Value))
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		b.WriteString(strconv.FormatBool(r.Flag(n, path)))
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			b.WriteString(n.Value)
			return
		}
		fallthrough
	default:
		r.Fail(n, path, "is no JSON value; quote it if it is a text")
	}
}

func quoteJSON(text string) string {
	encoded, err := strictjson.Encode(text)
	if err != nil {
		return `""` // never: every text can be written
	}
	return string(encoded)
}
