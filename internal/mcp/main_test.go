package mcp

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// serverVariable makes the test binary a stdio server with the behaviour that it names.
const serverVariable = "PAWL_MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(serverVariable); name != "" {
		serveStdio(name)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
