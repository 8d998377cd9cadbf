package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

// TestRegisteringByCommand: an operator registers, lists, rolls back and removes tools, and sees why a document is refused.
func TestRegisteringByCommand(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(failing bool, want string, args ...string) {
		t.Helper()
		c := w.Command(append([]string{"tools"}, args...)...)
		status := c.Wait()
		if text := strings.Join(strings.Fields(c.Out.String()+c.Err.String()), " "); (status != 0) != failing || !strings.Contains(text, want) {
			t.Errorf("pawl tools %s ends with %d and %s", strings.Join(args, " "), status, text)
		}
	}
	says := func(want string, args ...string) { t.Helper(); run(false, want, args...) }
	fails := func(want string, args ...string) { t.Helper(); run(true, want, args...) }
	says("tenant acme has no registered tools", "versions")
	write(strings.Replace(shopDocument("acme", "v1"), "risk: low", "risk: tiny", 1))
	fails("shop.yaml:8:11: tools[0].risk", "register", file)
	write(shopDocument("acme", "v1"))
	says("registered shop, version 1: tenant-acme__ship, tenant-acme__ask tenant acme may call what its allowedTools name, such as tenant-acme__*", "register", file, "--as", "user:ops")
	says("shop, version 1, says the same already", "register", file)
	write(shopDocument("acme", "v2"))
	says("registered shop, version 2", "register", file)
	says("registered shop, version 3", "rollback", "shop", "1")
	says("shop 1 http tenant-acme__ship and 1 more", "versions", "shop")
	says("path: '/v2/{id}'", "versions", "shop", "--document", "2")
	fails("no such version", "rollback", "shop", "9")
	fails("begins with tenant-globex__", "register", file, "--tenant", "globex")
	says("removed shop, version 3", "unregister", "shop")
	fails("no registration or version", "unregister", "shop")
	fails("no registration or version", "versions", "nothing")
	write("mcpServers:\n  tenant-acme_docs: {url: https://mcp.example.com/mcp}\n")
	says("mcp__tenant-acme_docs__* tenant acme may call what its allowedTools name, such as mcp__tenant-acme_docs__*", "register", file, "--kind", "mcp")
}
