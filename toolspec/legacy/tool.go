package legacy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Tool is a tool of the old form. Effect, risk and redaction are not part of that form and have no
// default: set them in Contract.
type Tool[In, Out any] struct {
	// ID is the tool's own name, sum, or a namespaced id, math__sum.
	ID string
	// ProvidedBy is the namespace of a bare ID.
	ProvidedBy string
	// Name is for people, Description for models.
	Name, Description string
	// Contract is the rest of the definition. Its ID, Title and Description are
	// not used.
	Contract toolspec.Definition
	Execute  func(ctx context.Context, in In, call toolspec.Call) (Out, error)
	// PreHook runs before every attempt, at willExecute. An error keeps the tool from running: an
	// error of toolspec.Safef aborts the call with its text. Any other error ends the call with
	// `internal`, and its text stays in the worker.
	PreHook func(ctx context.Context, c Call, in In) error
	// PostHook runs after every attempt that gave a value, at didExecute, and sees
	// that value as the tool made it. It cannot change the value. An error counts as
	// an error of PreHook does, but it does not undo the effect of the tool.
	PostHook func(ctx context.Context, c Call, in In, out Out) error
}

// Call is what an old hook learns of the call.
type Call struct {
	ToolID, ToolCallID, InvocationID string
	// IdempotencyKey is the same each time that this run of the hook is repeated.
	IdempotencyKey string
	Context        toolspec.Context
}

// Import returns the old tool as a toolspec.Tool, and a hook if the old tool has a
// PreHook or a PostHook. A worker checks the Contract when it gets the tool.
func (t Tool[In, Out]) Import() (toolspec.Tool, []hook.Hook) {
	def := t.Contract
	def.ID, def.Title, def.Description = t.id(), t.Name, t.Description
	tool := toolspec.Define(def, t.Execute)
	var handlers []hook.Option
	if t.PreHook != nil {
		handlers = append(handlers, hook.WillExecute.Do(t.before))
	}
	if t.PostHook != nil {
		handlers = append(handlers, hook.DidExecute.Do(t.after))
	}
	if len(handlers) == 0 {
		return tool, nil
	}
	return tool, []hook.Hook{hook.New(hookName(def.ID), handlers...)}
}

func (t Tool[In, Out]) id() string { return namespaced(t.ProvidedBy, t.ID) }

// namespaced puts a bare name into a namespace, if there is one.
func namespaced(by, name string) string {
	if by == "" || strings.Contains(name, "__") {
		return name
	}
	return by + "__" + name
}

func (t Tool[In, Out]) before(ctx context.Context, v *hook.Attempt) error {
	in, err := decoded[In](v.Args())
	if err != nil {
		return err
	}
	return ended(v.Abort, t.PreHook(ctx, callOf(v), in))
}

func (t Tool[In, Out]) after(ctx context.Context, v *hook.Executed) error {
	in, err := decoded[In](v.Args())
	if err != nil {
		return err
	}
	out, err := decoded[Out](v.RawOutput())
	if err != nil {
		return err
	}
	return ended(v.Abort, t.PostHook(ctx, callOf(v), in, out))
}

// ended makes an abort of an error that may be shown.
func ended(abort func(string, ...hook.AbortOption) error, err error) error {
	var safe *toolspec.SafeError
	if errors.As(err, &safe) {
		return abort(safe.Error())
	}
	return err
}

func callOf(v interface {
	ToolID() string
	ToolCallID() string
	InvocationID() string
	IdempotencyKey() string
	Context() toolspec.Context
}) Call {
	return Call{
		ToolID: v.ToolID(), ToolCallID: v.ToolCallID(), InvocationID: v.InvocationID(),
		IdempotencyKey: v.IdempotencyKey(), Context: v.Context(),
	}
}

func decoded[T any](raw json.RawMessage) (v T, err error) {
	if err = json.Unmarshal(raw, &v); err != nil {
		// The cause may quote a value.
		return v, fmt.Errorf("%T does not fit", v)
	}
	return v, nil
}

// longestName bounds the name of a hook, in bytes.
const longestName = 63

// hookName returns the name of the hook of a tool. The name must never change, because calls record it.
// If the id of the tool cannot be a part of a name, the name has the digest of the id.
func hookName(toolID string) string {
	name := "legacy-" + strings.ReplaceAll(toolID, "_", "-")
	if len(name) > longestName || toolID != strings.ToLower(toolID) || strings.Contains(toolID, "-") {
		sum := sha256.Sum256([]byte(toolID))
		name = "legacy-" + hex.EncodeToString(sum[:16])
	}
	return name
}
