package mcp

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// serverVariable makes the test binary a stdio server with the behaviour that it names.
const serverVariable = "PAWL_MCP_TEST_SERVER"

// tokenVariable has the token of the worker for HTTP servers.
const (
	tokenVariable = "PAWL_MCP_TEST_TOKEN"
	testToken     = "a-token-of-the-worker"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(serverVariable); name != "" {
		serveStdio(name)
		os.Exit(0)
	}
	if scenario := os.Getenv(scenarioVariable); scenario != "" {
		if err := driveScenario(scenario, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := os.Setenv(tokenVariable, testToken); err != nil {
		panic(err)
	}
	// The servers wait more than they work. The command line may say otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(settled{m},
		// A session of a server of the SDK in these tests stays if its client is ended by force, as on a machine that is slow.
		goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// settled waits for the starts of sessions that were given up, before goleak looks for goroutines.
type settled struct{ m *testing.M }

func (s settled) Run() int {
	defer givenUp.Wait()
	return s.m.Run()
}
