package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxName is the maximum length of an offered name, in characters. No provider accepts a longer
// name.
const MaxName = 64

// SafeName reports whether every provider accepts name as the name of a tool: 1–64 characters of
// [A-Za-z0-9_-].
func SafeName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// CheckTools returns an error for tools that no request can offer: a name that is not safe or
// occurs twice, or a schema that is not a JSON object.
func CheckTools(tools []Tool) error {
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		schema := jsontext.Value(t.Schema)
		switch {
		case !SafeName(t.Name):
			return fmt.Errorf("%q is no name that a provider takes: 1–64 of [A-Za-z0-9_-]", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("two tools are named %s", t.Name)
		case !schema.IsValid() || schema.Kind() != '{':
			return fmt.Errorf("the schema of %s is not a JSON object", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// Check returns an error for an unknown mode, for a Name without the mode Named, and for the mode
// Named without a Name. An empty mode is Auto.
func (c Choice) Check() error {
	switch c.Mode {
	case "", Auto, None, Required:
		if c.Name != "" {
			return fmt.Errorf("the choice %s names the tool %s", c.Mode, c.Name)
		}
		return nil
	case Named:
		if c.Name == "" {
			return errors.New("the choice names no tool")
		}
		return nil
	default:
		return fmt.Errorf("there is no choice %q", c.Mode)
	}
}

// Repeatable returns a called name in the form in which the next request may repeat it. Providers
// refuse a history with a name that cannot be offered, so every other character of an invented name
// becomes _. The answer to the call says what was wrong.
func Repeatable(name string) string {
	if SafeName(name) {
		return name
	}
	safe := []byte(name)
	for i, c := range safe {
		if !SafeName(string(c)) {
			safe[i] = '_'
		}
	}
	if len(safe) == 0 {
		return "_"
	}
	return string(safe[:min(len(safe), MaxName)])
}
