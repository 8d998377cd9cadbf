package toolspec_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestTenantNamespaces: no two tenants share a namespace, whatever they are called, and each namespace can begin a tool id and the id of an
// MCP server.
func TestTenantNamespaces(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, tenant := range []string{
		"acme", "Acme", "acme-", "acme_", "acme__x", "acme.x", "-acme", "a", strings.Repeat("a", 13), strings.Repeat("a", 14), strings.Repeat("a", 48),
		"tenant-acme", toolspec.TenantNamespace("acme_")[len("tenant-"):],
	} {
		namespace := toolspec.TenantNamespace(tenant)
		if other, taken := seen[namespace]; taken {
			t.Errorf("%q and %q are both %s", tenant, other, namespace)
		}
		seen[namespace] = tenant
		server := namespace + "_docs"
		for _, id := range []string{namespace + "__search", toolspec.MCPToolID(server, "search"), toolspec.MCPToolID(server, strings.Repeat("x", 99))} {
			if err := toolspec.CheckToolID(id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if of := toolspec.TenantOfTool(id); of != namespace || toolspec.ForeignTool(tenant, id) || !toolspec.ForeignTool("globex", id) || !toolspec.MayNameTenantTools(id) {
				t.Errorf("%s is of %q", id, of)
			}
		}
		if err := toolspec.CheckServerID(server); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
	for _, id := range []string{"core__ls", "mcp__github__x", "mcp__github__tenant-acme", "tenant__x", "github__tenant-acme__x", "mcp__", "mcp"} {
		if of := toolspec.TenantOfTool(id); of != "" || toolspec.ForeignTool("acme", id) {
			t.Errorf("%s is of %q", id, of)
		}
	}
	for _, pattern := range []string{"*", "t*", "mcp__*", "mcp__tenant*", "tenant*"} {
		if toolspec.MayNameTenantTools(pattern) {
			t.Errorf("%s names tools of tenants", pattern)
		}
	}
}
