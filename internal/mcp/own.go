package mcp

import (
	"context"
	"errors"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

const (
	// ownCloseTime bounds the orderly end of the session of a call, which the result of the call waits for, and before it
	// how long the notice of a cancelled call may take.
	ownCloseTime = 500 * time.Millisecond
	// maxOwnSessions bounds the sessions of calls that are open at once with a server: each may hold a message.
	maxOwnSessions = 32
)

// connected calls a tool in a session of its own, with the credential of the connection of the call. The session
// lasts as long as the call, so no call of another connection, actor or tenant ever has it: its id is worth nothing
// to them.
func (s *Source) connected(ctx context.Context, t target, call toolspec.Call, use func(*session) (*sdk.CallToolResult, error)) (*sdk.CallToolResult, error) {
	last := s.last.Load()
	if last == nil {
		return nil, tryLater("the MCP server is not connected")
	}
	if last.listed[t.name] != t.def.Discovered.Digest {
		return nil, errOtherDefinition()
	}
	client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
	if err != nil {
		return nil, toolspec.Safef("%w", err)
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return nil, tryLater("too many calls with connections use the MCP server now")
	}
	starting, cancel := context.WithTimeout(ctx, s.server.StartTimeout)
	defer cancel()
	se, err := openSession(starting, s.server, way{version: last.version, base: transportOf(client), flow: s.flow})
	if err != nil {
		return nil, s.notOpened(ctx, err)
	}
	defer se.close(ownCloseTime)
	result, err := use(se)
	if ctx.Err() != nil {
		se.awaitNotified(ownCloseTime)
	}
	return result, err
}

// awaitNotified waits until the server got the notice of the end of a call. The SDK sends the notice in the background, and not after
// the session is closed.
func (se *session) awaitNotified(limit time.Duration) {
	select {
	case <-se.in.notified:
	case <-se.in.broken:
	case <-se.ended:
	case <-time.After(limit):
	}
}

// transportOf returns what a client of a connection sends its requests with. The client itself would follow
// redirects.
func transportOf(c *http.Client) http.RoundTripper {
	if c.Transport == nil {
		return http.DefaultTransport
	}
	return c.Transport
}

// notOpened returns what it means for a call that its session could not start. The tool was not called.
func (s *Source) notOpened(ctx context.Context, err error) error {
	var refused *statusError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return refused.callError(s.server)
	case errors.Is(err, capability.ErrForeignHost):
		return toolspec.Safef("the host of the MCP server is none of the connection's: nothing was sent")
	case errors.Is(err, capability.ErrLeaseOver):
		return capability.ErrLeaseOver
	}
	return tryLater("no session with the MCP server could be started")
}
