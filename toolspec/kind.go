package toolspec

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// ValueKind says how the value of a tool is meant, and so how a model gets it.
type ValueKind string

// The kinds of values.
const (
	// KindJSON is any JSON value. A model reads its JSON. The kind is left out if it is written
	// as JSON, so a result of an older release is of this kind.
	KindJSON ValueKind = ""
	// KindText is a text: the value is a JSON string, and a model reads the text itself.
	KindText ValueKind = "text"
	// KindParts is a list of parts: see Parts. A model gets each part as its provider's format
	// has it.
	KindParts ValueKind = "parts"
)

// Valid reports whether k is a kind.
func (k ValueKind) Valid() bool { return k == KindJSON || k == KindText || k == KindParts }

// String returns the name of the kind, json for KindJSON.
func (k ValueKind) String() string {
	if k == KindJSON {
		return "json"
	}
	return string(k)
}

// Kind returns the kind of the tool's values. A tool whose Go function returns a string, and a tool
// whose output schema document is of the type string, return text. A tool whose function returns
// Parts, and a tool whose output schema document is that of PartsSchema, return parts. Every other
// tool returns JSON.
func (t Tool) Kind() ValueKind {
	if t.documents == nil {
		return kindOf(t.out)
	}
	var root struct {
		Type any `json:"type"`
	}
	switch {
	case bytes.Equal(bytes.TrimSpace(t.documents.out), PartsSchema()):
		return KindParts
	case json.Unmarshal(t.documents.out, &root) == nil && root.Type == "string":
		return KindText
	}
	return KindJSON
}

func kindOf(out reflect.Type) ValueKind {
	for out != nil && out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	switch {
	case out == reflect.TypeFor[Parts]():
		return KindParts
	case out == reflect.TypeFor[json.Number](), out == nil:
		return KindJSON
	case out.Kind() == reflect.String && !out.Implements(reflect.TypeFor[json.Marshaler]()):
		return KindText
	}
	return KindJSON
}

// OutputInfo describes a value beside the value itself.
type OutputInfo struct {
	// Kind is the kind of the whole value.
	Kind ValueKind `json:"kind,omitempty"`
	// Bytes is the size of the whole redacted value as JSON.
	Bytes int64 `json:"bytes,omitempty"`
	// Truncated says that the value is a shortened form of the whole.
	Truncated bool `json:"truncated,omitempty"`
	// OutputRef names the whole value if Truncated is true, and otherwise the stream of the tool.
	OutputRef string `json:"outputRef,omitempty"`
}
