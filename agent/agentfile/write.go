package agentfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Write writes a document as YAML, for people. Read returns the same document for it.
func Write(d agent.Document) ([]byte, error) {
	n, err := documentNode(d)
	if err != nil {
		return nil, fmt.Errorf("write the agent: %w", err)
	}
	out, err := yaml.Dump(n, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write the agent: %w", err)
	}
	return out, nil
}

// mapping collects the keys of a mapping. It leaves out empty values.
type mapping struct{ n *node }

func newMapping() mapping { return mapping{&node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m mapping) add(key string, value *node) {
	m.n.Content = append(m.n.Content, textNode(key), value)
}

func (m mapping) text(key, value string) {
	if value != "" {
		m.add(key, textNode(value))
	}
}

func (m mapping) number(key string, value int) {
	if value != 0 {
		m.add(key, &node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(value)})
	}
}

func (m mapping) list(key string, entries []string) {
	if len(entries) == 0 {
		return
	}
	list := &node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, entry := range entries {
		list.Content = append(list.Content, textNode(entry))
	}
	m.add(key, list)
}

func documentNode(d agent.Document) (*node, error) {
	m := newMapping()
	m.text("name", d.Name)
	version := textNode(d.Version)
	version.Style = yaml.DoubleQuotedStyle
	m.add("version", version)
	m.text("description", d.Description)
	model, err := modelNode(d.Model)
	if err != nil {
		return nil, err
	}
	m.add("model", model)
	if d.Fallback != nil {
		if model, err = modelNode(*d.Fallback); err != nil {
			return nil, err
		}
		m.add("fallback", model)
	}
	if d.Summary != nil {
		if model, err = modelNode(*d.Summary); err != nil {
			return nil, err
		}
		m.add("summary", model)
	}
	m.text("instructions", d.Instructions)
	m.list("tools", d.Tools)
	m.list("agents", d.Agents)
	if d.Choice.Mode == wire.Named {
		m.text("choice", d.Choice.Tool)
	} else {
		m.text("choice", string(d.Choice.Mode))
	}
	if len(d.Output) > 0 {
		schema, err := jsonNode(d.Output)
		if err != nil {
			return nil, err
		}
		m.add("output", schema)
	}
	m.add("limits", limitsNode(d.Limits))
	if d.Graph != nil {
		graph := newMapping()
		graph.text("name", d.Graph.Name)
		graph.text("version", d.Graph.Version)
		m.add("graph", graph.n)
	}
	return m.n, nil
}

func modelNode(model agent.Model) (*node, error) {
	m := newMapping()
	m.text("format", model.Format)
	m.text("name", model.Name)
	m.text("connection", model.Connection)
	m.text("url", model.URL)
	m.number("maxTokens", model.MaxTokens)
	if model.Strict {
		m.add("strict", &node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	if len(model.Members) > 0 {
		members := newMapping()
		for _, name := range slices.Sorted(maps.Keys(model.Members)) {
			value, err := jsonNode(model.Members[name])
			if err != nil {
				return nil, err
			}
			members.add(name, value)
		}
		m.add("members", members.n)
	}
	return m.n, nil
}

func limitsNode(l agent.Limits) *node {
	m := newMapping()
	m.number("rounds", l.Rounds)
	m.number("calls", l.Calls)
	m.text("time", writeSeconds(l.Seconds))
	m.number("tokens", l.Tokens)
	if l.MicroUSD != 0 {
		m.add("cost", &node{Kind: yaml.ScalarNode, Tag: "!!float", Value: writeMoney(l.MicroUSD)})
	}
	m.text("context", writeSize(l.ContextBytes))
	m.number("offered", l.Offered)
	m.number("atOnce", l.AtOnce)
	return m.n
}

// textNode writes a text, as a block if it has several lines.
func textNode(text string) *node {
	n := &node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.Contains(text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// jsonNode reads JSON, which is YAML, and gives it the style of the rest of the document.
func jsonNode(raw json.RawMessage) (*node, error) {
	var doc node
	if err := yaml.Load(raw, &doc); err != nil {
		return nil, err
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode {
		root = doc.Content[0]
	}
	restyle(root)
	return root, nil
}

func restyle(n *node) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		*n = *textNode(n.Value)
	case n.Kind != yaml.ScalarNode && len(n.Content) > 0:
		n.Style = 0
	}
	for _, child := range n.Content {
		restyle(child)
	}
}
