package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec/source"
)

// TestAServerThatChangesAllTheTime: the list of a server that keeps changing is read less often.
func TestAServerThatChangesAllTheTime(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	change := func(i int) {
		sdk.AddTool(server, &sdk.Tool{Name: "changes", Description: fmt.Sprint("Reads ", i, ".")}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	change(0)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	began, seen := time.Now(), map[string]bool{}
	r := start(t, Server{ID: "srv", Transport: Streamable, URL: web.URL})
	for i := range 6 {
		change(i)
		r.until(fmt.Sprint("change ", i), func(o source.Offer) bool {
			tool, ok := find(o, "mcp__srv__changes")
			digest := ""
			if ok {
				digest = tool.Definition().Discovered.Digest
			}
			isNew := ok && !seen[digest]
			seen[digest] = seen[digest] || isNew
			return isNew
		})
	}
	if took := time.Since(began); took < (50+100+200+200+200)*time.Millisecond {
		t.Errorf("5 changes were read within %s", took)
	}
}
