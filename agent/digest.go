package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Canonical returns the text of the document that is stored and hashed: RFC 8785 JSON, with Output as the last
// member. Output keeps the order of its members, because models write the members of an answer in the order of
// the schema. Canonical returns an error for invalid JSON in the document.
func (d Document) Canonical() ([]byte, error) {
	output := d.Output
	d.Output = nil
	text, err := canonicalJSON(d)
	if err != nil || len(output) == 0 {
		return text, err
	}
	if fault := strictjson.Check(output); fault != nil {
		return nil, fmt.Errorf("agent: output: %w", fault)
	}
	whole := bytes.NewBuffer(text[:len(text)-1])
	whole.WriteString(`,"output":`)
	if err := json.Compact(whole, output); err != nil {
		return nil, fmt.Errorf("agent: output: %w", err)
	}
	whole.WriteByte('}')
	return whole.Bytes(), nil
}

// Digest returns the SHA-256 of the canonical text, in hexadecimal.
func (d Document) Digest() (string, error) {
	text, err := d.Canonical()
	if err != nil {
		return "", err
	}
	return digest(text), nil
}

// PromptHash returns the SHA-256, in hexadecimal, of everything that decides how the model answers the same
// messages: the instructions, the model without its connection and URL, the choice, the output schema, and
// name, description and input schema of the tools. The order of the tools does not count. tools are the tools
// that a run offers to the model, which can be fewer than d.Tools.
func PromptHash(d Document, tools []toolspec.Spec) (string, error) {
	type offered struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	}
	list := make([]offered, len(tools))
	for i, t := range tools {
		list[i] = offered{t.Name, t.Description, t.InputSchema}
	}
	slices.SortFunc(list, func(a, b offered) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Description, b.Description), bytes.Compare(a.InputSchema, b.InputSchema))
	})
	model := d.Model
	model.Connection, model.URL = "", ""
	prompt, err := canonicalJSON(struct {
		Instructions string    `json:"instructions"`
		Model        Model     `json:"model"`
		Choice       Choice    `json:"choice"`
		Tools        []offered `json:"tools"`
	}{d.Instructions, model, d.Choice, list})
	if err != nil {
		return "", err
	}
	// The order of the members of a schema says in which order the model answers.
	output := new(bytes.Buffer)
	if len(d.Output) > 0 {
		if err := json.Compact(output, d.Output); err != nil {
			return "", fmt.Errorf("agent: output: %w", err)
		}
	}
	return digest(slices.Concat(prompt, []byte{'\n'}, output.Bytes())), nil
}

// canonicalJSON returns the canonical JSON of v (RFC 8785).
func canonicalJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = strictjson.Canonical(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return raw, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
