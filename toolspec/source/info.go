package source

import (
	"fmt"
	"slices"
)

// maxName bounds the name of a source, in characters.
const maxName = 64

// Kinds returns the kinds of sources in the order in which a worker starts them.
func Kinds() []Kind { return []Kind{Builtin, Worker, MCP, HTTP, Remote, Registered, Extension} }

// Check reports a kind that does not exist, or a name that breaks the rule of [Info].
func (i Info) Check() error {
	if !slices.Contains(Kinds(), i.Kind) {
		return fmt.Errorf("the kind %q of a source is none of %v", i.Kind, Kinds())
	}
	if len(i.Name) > maxName {
		return fmt.Errorf("the name of a source of kind %s is longer than %d characters", i.Kind, maxName)
	}
	for _, c := range []byte(i.Name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return fmt.Errorf("the name %q of a source of kind %s may hold only letters, digits, '_' and '-'", i.Name, i.Kind)
		}
	}
	return nil
}

// String returns the kind and the name.
func (i Info) String() string {
	if i.Name == "" {
		return string(i.Kind)
	}
	return string(i.Kind) + " " + i.Name
}
