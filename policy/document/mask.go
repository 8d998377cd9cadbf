package document

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Mask hides parts of the outputs of a tool, beside those that the tool itself masks.
type Mask struct {
	Tool Pattern `json:"tool" jsonschema:"required"`
	Path string  `json:"path" jsonschema:"maxLength=512" jsonschema_description:"A JSON pointer into the output, as in Redaction.MaskOutput of a tool. The empty text is the whole output. Required without stream."`
	// Stream says that the mask is for the text stream and not for the output. Path is empty then.
	Stream bool            `json:"stream,omitempty" jsonschema_description:"Mask the text that the tool writes to its stream, and not its output. It goes without path, and not with all."`
	With   toolspec.Masker `json:"with" jsonschema:"required"`
}

// MarshalJSON leaves Path out of a mask of a stream: an empty path is the whole output.
func (m Mask) MarshalJSON() ([]byte, error) {
	type plain Mask
	if !m.Stream {
		return json.Marshal(plain(m))
	}
	return json.Marshal(struct {
		plain
		Path *string `json:"path,omitempty"`
	}{plain: plain(m)})
}

// masks reads the masks of a tenant. All entries for a tool apply.
func (r *reader) masks(n *yaml.Node, path string) []Mask {
	var masks []Mask
	seen := map[Mask]bool{}
	r.List(n, path, MaxMasks, func(n *yaml.Node, path string) {
		var m Mask
		before, hasPath := len(r.Faults()), false
		r.Mapping(n, path,
			field{Name: "tool", Required: `is missing; write "*" for every tool`, Read: func(n *yaml.Node, path string) { m.Tool = r.toolPattern(n, path) }},
			field{Name: "path", Read: func(n *yaml.Node, path string) { m.Path, hasPath = r.pointer(n, path), true }},
			field{Name: "stream", Read: func(n *yaml.Node, path string) { m.Stream = r.Flag(n, path) }},
			field{Name: "with", Required: "is missing; write all, email, card, phone, iban or regex:PATTERN", Read: func(n *yaml.Node, path string) {
				if v, ok := r.Scalar(n, path, "!!str", "all, email, card, phone, iban or regex:PATTERN"); ok {
					if err := toolspec.Masker(v).Check(); err != nil {
						r.Fail(n, path, "%s", err)
						return
					}
					m.With = toolspec.Masker(v)
				}
			}},
		)
		if len(r.Faults()) == before {
			switch {
			case m.Stream && hasPath:
				r.Fail(n, path, "has path and stream: write two masks")
			case m.Stream && m.With == toolspec.MaskAll:
				r.Fail(n, path, "leaves nothing of the stream: write email, card, phone, iban or regex:PATTERN")
			case !m.Stream && !hasPath:
				r.Fail(n, strictyaml.Join(path, "path"), `is missing; write "" for the whole output, or stream: true for the stream`)
			case seen[m]:
				r.Fail(n, path, "is there twice")
			}
		}
		seen[m] = true
		masks = append(masks, m)
	})
	return masks
}

// pointer reads a JSON pointer, which may be empty.
func (r *reader) pointer(n *yaml.Node, path string) string {
	if n.Value == "" && n.Tag == "!!str" {
		return ""
	}
	pointer, ok := r.Text(n, path, maxPointer)
	if ok && !strings.HasPrefix(pointer, "/") {
		r.Fail(n, path, "is not a JSON pointer; start it with /")
		return ""
	}
	return pointer
}
