package toolspec

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// CheckToolID reports whether id is a namespaced tool id of at most 64
// characters of [a-zA-Z0-9_-] (TOOL_ID_NAMESPACED).
func CheckToolID(id string) error {
	if id == "" {
		return fmt.Errorf("is missing")
	}
	if len(id) > 64 {
		return fmt.Errorf("is longer than 64 characters")
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return fmt.Errorf("may hold only letters, digits, '_' and '-'")
		}
	}
	namespace, name, found := strings.Cut(id, "__")
	if !found || namespace == "" || name == "" {
		return fmt.Errorf("must be namespaced, such as core__read_file")
	}
	return nil
}

// BareName is a tool id without its namespace: ls of core__ls, and of
// mcp__<server>__<tool> the tool, which may itself hold the separator (C-08); ""
// where id has no namespace.
func BareName(id string) string {
	namespace, name, _ := strings.Cut(id, "__")
	if namespace == "mcp" {
		if _, tool, found := strings.Cut(name, "__"); found {
			return tool
		}
	}
	return name
}

// UnknownNamespace is that of no tool.
const UnknownNamespace = "unknown"

// UnknownTool is the id under which a call is recorded whose name cannot be the id
// of a tool, such as "read file": it is always the same for a name, and never a tool's.
func UnknownTool(name string) string {
	sum := sha256.Sum256([]byte(name))
	return UnknownNamespace + "__" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}
