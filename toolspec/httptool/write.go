package httptool

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Write writes a document as YAML, for people to review. It reads what it has written, so that the
// file is one that Read accepts.
func Write(d Document) ([]byte, error) {
	source, err := strictjson.Encode(d)
	if err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	v, err := readValue(source)
	if err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	var out bytes.Buffer
	dump := yaml.NewEncoder(&out)
	dump.SetIndent(2)
	if err := dump.Encode(v.yaml()); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	if err := dump.Close(); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	if _, err := Read("the document", out.Bytes()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// yaml returns the value as YAML.
func (v value) yaml() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: v.text}
	switch {
	case v.kind == isNull:
		n.Value, n.Tag = "null", "!!null"
	case v.kind == isArray:
		n.Kind, n.Value = yaml.SequenceNode, ""
		for _, m := range v.members {
			n.Content = append(n.Content, m.yaml())
		}
	case v.kind == isObject:
		n.Kind, n.Value = yaml.MappingNode, ""
		for _, m := range v.members {
			n.Content = append(n.Content, textNode(m.name), m.yaml())
		}
	case v.quoted:
		return textNode(v.text)
	}
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	return n
}

// textNode writes a text, as a block if it has several lines.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.Contains(text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}
