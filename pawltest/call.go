package pawltest

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// The default caller of a call.
const (
	Tenant = "acme"
	Actor  = "agent:test"
)

// Call is one call of a tool, and the capabilities and providers that the worker gives it. Each
// field that is not set takes the default that its comment names.
type Call struct {
	// Tool is the tool to call. The default is the built-in tool core__get_current_time.
	Tool toolspec.Tool
	// Args are the arguments: JSON text in a string, a []byte or a json.RawMessage, or another
	// value, which is marshalled. The default is {}.
	Args any
	// Context says who calls. The default of TenantID is Tenant, of ActorID Actor, and of RunID
	// "test".
	Context toolspec.Context
	// ToolCallID is the id of the call. Calls with the same Context and ToolCallID have the same
	// idempotency key. The default is a new id.
	ToolCallID string
	// Attempt and Epoch are the attempt number and the epoch that the tool gets in its
	// toolspec.Call. The default is 1. The default epoch of Probe is 2, because Pawl raises the
	// epoch before it asks a probe.
	Attempt, Epoch int
	// PreviewDigest says that people have approved the call with this preview: see Preview. Run then
	// compares it with a new preview, as a worker does. The default is that nobody was asked.
	PreviewDigest string

	// Workspace is the directory of the capability files. The default is an empty one.
	Workspace string
	// Now is the time of the capability clock, which does not run, and the time at which hooks
	// run. The default is a clock that runs.
	Now time.Time
	// Connection is the connection that the call names. The default is none.
	Connection *Connection
	// Capabilities are further capabilities of the worker, or replace its capabilities of the same name.
	Capabilities []toolspec.Provided
	// Providers provide the call, as worker.Providers does.
	Providers []provide.Option
	// Hooks are the hooks that Run runs around the tool, at aroundExecute, willExecute and
	// didExecute.
	Hooks []hook.Hook

	// Output is the value of the tool for stages that follow it, given like Args.
	Output any
	// Facts, if not nil, changes the facts of the call that a stage gets.
	Facts func(*hook.Facts)
}

// withDefaults returns the call with its defaults.
func (c Call) withDefaults(t testing.TB) Call {
	t.Helper()
	if c.Tool.Definition().ID == "" {
		c.Tool = tools.GetCurrentTime()
	}
	c.Context.TenantID = cmp.Or(c.Context.TenantID, Tenant)
	c.Context.ActorID = cmp.Or(c.Context.ActorID, Actor)
	c.Context.RunID = cmp.Or(c.Context.RunID, "test")
	c.Attempt, c.Epoch = cmp.Or(c.Attempt, 1), cmp.Or(c.Epoch, 1)
	if c.Connection != nil {
		connection := c.Connection.withDefaults(t, c.Tool.Definition().Scopes)
		c.Connection = &connection
		c.Context.ConnectionID = connection.ID
	}
	return c
}

// invocation returns the call as a client sends it, with a new id.
func (c Call) invocation(t testing.TB) toolspec.Invocation {
	t.Helper()
	inv := toolspec.Invocation{
		ToolID: c.Tool.Definition().ID, ToolCallID: cmp.Or(c.ToolCallID, "call-"+rand.Text()), Args: encoded(t, "Args", c.Args), Context: c.Context,
	}
	if c.Context.ConnectionID != "" {
		inv.AllowedConnectionIDs = []string{c.Context.ConnectionID}
	}
	return inv
}

// encoded returns a value of a field as JSON text. Text is returned as it is, because a call may
// send anything.
func encoded(t testing.TB, field string, v any) json.RawMessage {
	t.Helper()
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.RawMessage(text)
	case []byte:
		return text
	case json.RawMessage:
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(fmt.Errorf("pawltest: %s cannot be written as JSON: %w", field, err))
	}
	return text
}
