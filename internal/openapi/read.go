package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// read returns the root of a document, and its version of OpenAPI. A document that begins with a brace and is JSON is read as JSON, because YAML
// does not have all escapes of JSON.
func read(source []byte) (root *yaml.Node, version string, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(source), []byte("{")) && json.Valid(source) {
		decode := json.NewDecoder(bytes.NewReader(source))
		decode.UseNumber()
		root, err = fromJSON(decode)
	} else {
		root, err = fromYAML(source)
	}
	if err != nil {
		return nil, "", err
	}
	p := place{n: root}
	switch openapi, swagger := strings.TrimSpace(p.get("openapi").text()), strings.TrimSpace(p.get("swagger").text()); {
	case openapi != "":
		return root, openapi, supported(openapi, "3.0", "3.1")
	case swagger != "":
		return root, swagger, supported(swagger, "2.0")
	}
	return nil, "", errors.New("no OpenAPI document: it has neither openapi nor swagger, with a version")
}

// supported returns an error for a version that begins with none of these.
func supported(version string, known ...string) error {
	for _, v := range known {
		if strings.HasPrefix(version, v) {
			return nil
		}
	}
	return fmt.Errorf("OpenAPI %s is not supported: 2.0, 3.0 and 3.1 are", version)
}

func fromYAML(source []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("no OpenAPI document: %w", err)
	}
	if len(document.Content) == 0 {
		return nil, errors.New("no OpenAPI document: it is empty")
	}
	return resolved(document.Content[0]), nil
}

// fromJSON returns the next value as the node that YAML has for it.
func fromJSON(decode *json.Decoder) (*yaml.Node, error) {
	token, err := decode.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}, nil
	}
	switch v := token.(type) {
	case string:
		return scalar("!!str", v)
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("!!float", v.String())
		}
		return scalar("!!int", v.String())
	case bool:
		return scalar("!!bool", fmt.Sprint(v))
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for decode.More() {
			child, err := fromJSON(decode)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := decode.Token() // the end of the object or the list
		return n, err
	}
	return scalar("!!null", "null")
}
