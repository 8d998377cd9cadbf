package toolspec

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// tenantPrefix begins the namespaces of registered tools.
	tenantPrefix = "tenant-"
	// maxTenantLabel bounds the name of a tenant in a namespace, in characters, so that a tool id has
	// room for a name.
	maxTenantLabel = 13
	// tenantHash is the length of a hash in place of the name, in characters of base32: 80 bits.
	tenantHash = 16
)

// TenantNamespace returns the namespace of the tools that are registered for a tenant: the tools of acme have ids that begin with
// tenant-acme__, and the tools of its MCP servers have ids that begin with mcp__tenant-acme_. A hash of 80 bits stands in place of a name
// that has more than 13 characters, begins with '-', or has a character other than letters, digits and '-'. Two tenants whose names need
// no hash never have the same namespace.
func TenantNamespace(tenantID string) string {
	label := tenantID
	if label == "" || len(label) > maxTenantLabel || label[0] == '-' || strings.ContainsFunc(label, notInLabel) {
		sum := sha256.Sum256([]byte(tenantID))
		// A hash begins with '-', and a name does not.
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

// ForeignTool reports whether the id of a tool says that the tool is registered for another tenant than tenantID. Only the
// tenant of a tool may see or call it.
func ForeignTool(tenantID, toolID string) bool {
	of := TenantOfTool(toolID)
	return of != "" && of != TenantNamespace(tenantID)
}

// MayNameTenantTools reports whether a pattern of tool ids is about tools of tenants and about no others.
// A pattern such as * is not.
func MayNameTenantTools(pattern string) bool {
	return strings.HasPrefix(pattern, tenantPrefix) || strings.HasPrefix(pattern, mcpNamespace+"__"+tenantPrefix)
}
