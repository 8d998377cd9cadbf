package toolspec

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckToolID reports whether id is a namespaced tool id of at most 64
// characters of [a-zA-Z0-9_-] (TOOL_ID_NAMESPACED).
func CheckToolID(id string) error {
	if id == "" {
		return fmt.Errorf("is missing")
	}
	if len(id) > maxToolID {
		return fmt.Errorf("is longer than 64 characters")
	}
	if !isID(id) {
		return fmt.Errorf("may hold only letters, digits, '_' and '-'")
	}
	namespace, name, found := strings.Cut(id, "__")
	if !found || namespace == "" || name == "" {
		return fmt.Errorf("must be namespaced, such as core__read_file")
	}
	return nil
}

// BareName returns a tool id without its namespace: ls for core__ls, and the part <tool> for
// mcp__<server>__<tool>, which may itself contain __ (C-08). It returns "" if the id has no
// namespace.
func BareName(id string) string {
	namespace, name, _ := strings.Cut(id, "__")
	if namespace == mcpNamespace {
		if _, tool, found := strings.Cut(name, "__"); found {
			return tool
		}
	}
	return name
}

// maxToolID bounds a tool id, in characters: providers of models accept no more.
const maxToolID = 64

// mcpNamespace is the namespace of the tools of MCP servers.
const mcpNamespace = "mcp"

// MCPToolID returns the id of a tool of an MCP server: mcp__<server>__<tool> (MC-01, C-08). The id ends
// with a part of the SHA-256 of the tool's name if the name has characters that an id cannot have, or
// if the id would be longer than 64 characters. server must hold only letters, digits, '-' and single
// '_', and at most 32 of them. The caller must check it with CheckServerID.
func MCPToolID(server, tool string) string {
	prefix := mcpNamespace + "__" + server + "__"
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isIDByte(byte(r)) {
			return r
		}
		return '_'
	}, tool)
	if name == tool && name != "" && len(prefix)+len(name) <= maxToolID {
		return prefix + name
	}
	return HashedToolID(prefix, name, tool)
}

// HashedToolID returns a tool id that begins with prefix and as much of name as fits, and ends with a part of
// the SHA-256 of whole, which distinguishes it from other ids with the same beginning. prefix and name must
// hold only characters of ids.
func HashedToolID(prefix, name, whole string) string {
	sum := sha256.Sum256([]byte(whole))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return prefix + name[:min(len(name), maxToolID-len(prefix)-len(suffix))] + suffix
}

// CheckServerID reports whether id can name an MCP server in tool ids.
func CheckServerID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("is missing")
	case len(id) > 32:
		return fmt.Errorf("is longer than 32 characters")
	case strings.Contains(id, "__") || strings.HasPrefix(id, "_") || strings.HasSuffix(id, "_"):
		return fmt.Errorf("may not hold '__', or '_' at an end, which separate the parts of tool ids")
	case !isID(id):
		return fmt.Errorf("may hold only letters, digits, '_' and '-'")
	}
	return nil
}

func isID(s string) bool {
	for _, c := range []byte(s) {
		if !isIDByte(c) {
			return false
		}
	}
	return true
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// UnknownNamespace is a namespace that no tool has.
const UnknownNamespace = "unknown"

// UnknownTool returns the id that the record has for a call whose tool name cannot be the id of a
// tool, such as "read file". The same name always gives the same id, and no tool has it.
func UnknownTool(name string) string {
	sum := sha256.Sum256([]byte(name))
	return UnknownNamespace + "__" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}
