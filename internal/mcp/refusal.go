package mcp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

const (
	// busyTime is the pause after a server that limits the rate of requests and names no pause.
	busyTime = 5 * time.Second
	// maxBusyTime bounds the pause that a server names.
	maxBusyTime = time.Hour
)

// statusError says that an HTTP server refused a request, and so has done nothing. It holds nothing that the
// server said but the status and the pause.
type statusError struct {
	status int
	// after is the pause that the server asks for.
	after time.Duration
}

// refusalOf returns the refusal in a response, or nil. It returns nil for the request that opens the stream of
// notices: the SDK judges that response, because the stream is optional.
func refusalOf(resp *http.Response, s Server) *statusError {
	if resp.Request != nil && resp.Request.Method == http.MethodGet && s.Transport == Streamable {
		return nil
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &statusError{status: resp.StatusCode}
	case http.StatusTooManyRequests:
		after, ok := capability.RetryAfter(resp.Header)
		if !ok {
			after = busyTime
		}
		return &statusError{status: resp.StatusCode, after: min(after, maxBusyTime)}
	}
	return nil
}

// Error says what the refusal means for the session of a worker.
func (e *statusError) Error() string {
	switch e.status {
	case http.StatusUnauthorized:
		return "the server wants a credential that it accepts (401)"
	case http.StatusForbidden:
		return "the server refuses the credential, or its absence (403)"
	}
	return fmt.Sprintf("the server limits the rate of requests (%d)", e.status)
}

// codeRejected is the code by which the SDK knows that a message was not taken, and that its connection goes on.
const codeRejected = -32005

// Is lets the SDK keep the session after the refusal of one request, because other calls share the session.
func (*statusError) Is(target error) bool {
	rejected, ok := target.(*jsonrpc.Error)
	return ok && rejected.Code == codeRejected
}

// callError returns what the refusal means for a call.
func (e *statusError) callError(s Server) error {
	switch {
	case e.status == http.StatusTooManyRequests:
		return toolspec.RetryAfter(apart(e.after), "the MCP server limits the rate of requests")
	case e.status == http.StatusForbidden && s.Connection:
		return toolspec.Safef("the MCP server answered 403 Forbidden: the account of the connection may not do this, or the connection lacks a scope")
	case s.Connection:
		return toolspec.Safef("the MCP server answered 401 Unauthorized: it does not accept the credential of the connection. Sign in to the connection again, or replace its credential")
	}
	return toolspec.Safef("the MCP server answered %d: it does not accept the worker. Its operator sets connection or tokenFrom in the file of MCP servers", e.status)
}
