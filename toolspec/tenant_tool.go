package toolspec

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// tenantPrefix begins the namespaces of registered tools.
	tenantPrefix = "tenant-"
	// maxTenantLabel bounds a label, so that a tool id has room for a name.
	maxTenantLabel = 13
	// tenantHash is the length of the hash of a label: 80 bits.
	tenantHash = 16
)

// TenantNamespace returns the namespace of the tools that are registered for a tenant: the tools of
// acme have ids that begin with tenant-acme__, and those of its MCP servers with mcp__tenant-acme_. A tenant with a name of more than 13 characters, or with another
// character than a letter, a digit and '-', or with '-' first, has a hash of 80 bits
// in its place. No two other tenants have the same namespace.
func TenantNamespace(tenantID string) string {
	label := tenantID
	if label == "" || len(label) > maxTenantLabel || label[0] == '-' || strings.ContainsFunc(label, notInLabel) {
		sum := sha256.Sum256([]byte(tenantID))
		// The first character tells a hash from a name.
		label = "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:tenantHash])
	}
	return tenantPrefix + label
}

func notInLabel(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// TenantOfTool returns the namespace of a tenant to which a tool id belongs, and an empty text for a tool
// that is of no tenant.
func TenantOfTool(toolID string) string {
	namespace, rest, _ := strings.Cut(toolID, "__")
	if namespace == mcpNamespace {
		namespace, _, _ = strings.Cut(rest, "__")
	}
	if !strings.HasPrefix(namespace, tenantPrefix) {
		return ""
	}
	namespace, _, _ = strings.Cut(namespace, "_")
	return namespace
}

// ForeignTool reports whether a tool is registered for another tenant. Nobody but its tenant may see or
// call it.
func ForeignTool(tenantID, toolID string) bool {
	of := TenantOfTool(toolID)
	return of != "" && of != TenantNamespace(tenantID)
}

// MayNameTenantTools reports whether a pattern of tool ids is about tools of tenants and about no others.
// A pattern such as * is not.
func MayNameTenantTools(pattern string) bool {
	return strings.HasPrefix(pattern, tenantPrefix) || strings.HasPrefix(pattern, mcpNamespace+"__"+tenantPrefix)
}
