package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec/source"
)

// TestServerComesBack: a server that does not answer for a while gets a session when it answers.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	server := sdkServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var back atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !back.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
			<-r.Context().Done()
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	r := start(t, Server{Transport: Streamable, URL: web.URL, StartTimeout: 300 * time.Millisecond})
	r.until("the fault", func(o source.Offer) bool { return o.Fault != "" })
	back.Store(true)
	r.until("the tool", func(o source.Offer) bool { return len(o.Tools) == 1 && o.Fault == "" })
}
