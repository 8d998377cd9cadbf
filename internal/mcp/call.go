package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// toolFunc is the function of a tool.
type toolFunc = func(ctx context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error)

// retryTime is the pause before a call that found no session tries again.
const retryTime = 2 * time.Second

// errNotReviewed is what a tool without a review answers. Policy denies its calls before that.
var errNotReviewed = toolspec.Safef("the tool has no review in the policy")

// errNotSent says that the session had ended before the call. The errors of the SDK do not tell this apart from
// an answer of the server: its codes -32003 and -32004 look like a closed connection.
var errNotSent = errors.New("the session has ended")

// errUnanswered says that nobody knows whether a call had its effect.
var errUnanswered = toolspec.Unanswered("the MCP server did not answer the call")

// codeURLElicitation is the code by which a server asks for a visit of a web page.
const codeURLElicitation = -32042

// run returns the function of a tool.
func (s *Source) run(t target) toolFunc {
	return func(ctx context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
		if !t.reviewed {
			return nil, errNotReviewed
		}
		progress := capability.ProgressKey.From(call)
		use := func(se *session) (*sdk.CallToolResult, error) {
			result, err := se.call(ctx, t.name, args, func(p toolspec.Progress) { progress.Report(ctx, p) })
			if err != nil {
				return nil, s.callError(ctx, t, err)
			}
			return result, nil
		}
		in := s.shared
		if s.server.Connection {
			in = s.connected
		}
		result, err := in(ctx, t, call, use)
		if err != nil {
			return nil, err
		}
		return t.value(result)
	}
}

// errOtherDefinition says that the server has changed the definition with which the call began. The worker gets the
// new definition soon, and policy then decides about it.
func errOtherDefinition() error {
	return tryLater("the MCP server has changed the definition of the tool")
}

// tryLater is the error of a call that was not sent. Its pause is random, so that calls with the same fault do not all
// try again at once.
func tryLater(why string) error { return toolspec.RetryAfter(apart(retryTime), why) }

// apart adds up to a quarter to a pause, at random.
func apart(pause time.Duration) time.Duration {
	return pause + rand.N(pause/4+1) //nolint:gosec // jitter
}

// shared calls a tool in the session of the worker.
func (s *Source) shared(_ context.Context, t target, _ toolspec.Call, use func(*session) (*sdk.CallToolResult, error)) (*sdk.CallToolResult, error) {
	se := s.current.Load()
	switch {
	case se == nil:
		return nil, tryLater("the MCP server is not connected")
	case !se.hasDefinition(t.name, t.def.Discovered.Digest):
		return nil, errOtherDefinition()
	}
	return use(se)
}

// call calls a tool of the server.
func (se *session) call(ctx context.Context, name string, args json.RawMessage, report func(toolspec.Progress)) (*sdk.CallToolResult, error) {
	select {
	case <-se.ended:
		return nil, errNotSent
	case <-se.in.broken:
		return nil, errNotSent
	default:
	}
	se.in.calls.Add(1)
	defer se.in.calls.Add(-1)
	token, stop := se.watch(report)
	defer stop()
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(token)
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	done := make(chan answer, 1)
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		result, err := se.client.CallTool(calling, params)
		done <- answer{result, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, context.DeadlineExceeded) || errors.Is(a.err, sdk.ErrConnectionClosed) {
			go se.ping()
		}
		return a.result, a.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			go se.ping()
		}
		return nil, ctx.Err()
	case <-se.in.broken:
		return nil, errLost
	}
}

// callError returns what the error of a call means for the call.
func (s *Source) callError(ctx context.Context, t target, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errNotSent) {
		return tryLater("the session with the MCP server has ended; a new session is being started")
	}
	var status *statusError
	if errors.As(err, &status) {
		return status.callError(s.server)
	}
	if capability.Unsent(err) {
		return tryLater("the MCP server cannot be reached")
	}
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	switch refused.Code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
		// The server has not run the tool.
		return t.failure("the MCP server refuses the call", refused.Message)
	case codeURLElicitation:
		return errAsksPerson
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// errAsksPerson is the answer to a server that wants input of a person.
var errAsksPerson = toolspec.Safef("the MCP server asks for input of a person, which Pawl does not pass on")
