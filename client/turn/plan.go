package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// maxNative bounds wire.Call.Raw, the call as the provider wrote it, in the record, in bytes. If it is larger, the
// record has only the id and the name of the call.
const maxNative = 32 << 10

// maxRead bounds the arguments that are parsed, in bytes, because parsing takes up to a hundred times their size.
// It is larger than the bound of a tool's arguments, because the arguments that a model writes for a strict schema
// are longer than the arguments that restoreArgs makes of them.
const maxRead = toolspec.MaxInvocation

// Plan holds the calls of a response before they start.
type Plan struct {
	Response wire.Response
	Calls    []PlannedCall
}

// PlannedCall is a call as Take would start it.
type PlannedCall struct {
	Call wire.Call
	// ToolID is the tool that was offered under the call's name, or the name itself if it can be
	// the id of a tool. Otherwise it is empty, and the record has the call under
	// toolspec.UnknownTool.
	ToolID string
	// Invocation is the call that would start. It is the zero value if Refused is not nil.
	Invocation toolspec.Invocation
	// Refused is the result of a call that cannot start, or nil.
	Refused *toolspec.Result
	// Same is the index of an earlier, equal call of the response, which is then the call that runs, or -1.
	Same int
	// Hint tells the model why the name that it called stands for no tool, or for more than one.
	Hint string
	// Alone says that the call may have an effect, so without Turn.Together no other call runs at the same time.
	Alone bool
}

// Plan reads a response and returns the calls that Take would start. It starts nothing and uses no network. If the
// response cannot be read or answered, Plan returns an error, and a plan that has only the usage that the provider
// has reported.
func (t Turn) Plan(response io.Reader) (Plan, error) { return t.planOf(response, func(string) {}) }

// planOf is Plan, and calls arrived with each part of the text of a streamed response.
func (t Turn) planOf(response io.Reader, arrived func(text string)) (Plan, error) {
	if err := t.check(); err != nil {
		return Plan{}, err
	}
	decoded, err := t.read(response, arrived)
	if err != nil {
		return Plan{Response: decoded}, err
	}
	plan := Plan{Response: decoded}
	for i, call := range decoded.Calls {
		p, err := t.plan(i, call, decoded.Finish)
		if err != nil {
			return Plan{}, fmt.Errorf("turn %s: call %d: %w", t.Key, i, err)
		}
		plan.Calls = append(plan.Calls, p)
	}
	refuseTakenIDs(plan.Calls)
	return plan, nil
}

// plan turns the call at index i of a response into a PlannedCall: it finds the tool of the called name, refuses a
// call that cannot start, and fills in the invocation. finish says how the response ended.
func (t Turn) plan(i int, call wire.Call, finish wire.Finish) (PlannedCall, error) {
	p := PlannedCall{Call: call, Same: -1, Alone: true}
	tool, err := t.Offer.Names.Resolve(call.Name)
	p.ToolID = call.Name
	switch {
	case err == nil && tool.Name != call.Name && tool.ToolID != call.Name && toolspec.CheckToolID(call.Name) == nil:
		// Resolve has taken the called name as a short name of an offered tool. But the name is itself a valid
		// tool id, and such an id never stands for another tool.
	case err == nil:
		p.ToolID, p.Alone = tool.ToolID, tool.Effect != toolspec.ReadOnly
	case errors.Is(err, wire.ErrAmbiguous):
		p.ToolID, p.Hint = "", err.Error()
	case toolspec.CheckToolID(call.Name) != nil:
		p.ToolID, p.Hint = "", err.Error()
	}
	if finish != wire.FinishCalls {
		// The calls of a response that was cut off or refused do not run.
		p.refuse(toolspec.CodeIncomplete, "")
		return p, nil
	}
	if call.Fault != "" {
		// The call is not complete. Its arguments may be valid JSON, but they are not what the model meant.
		p.refuse(call.Fault, "")
		return p, nil
	}
	if len(call.Args) > maxRead {
		p.refuse(toolspec.CodeValidation, fmt.Sprintf("The arguments are larger than %d bytes", toolspec.MaxInline))
		return p, nil
	}
	args, ok := hydrate.OfText(call.Args)
	if !ok {
		p.refuse(toolspec.CodeInvalidJSON, "")
		return p, nil
	}
	if p.ToolID == tool.ToolID {
		args = restoreArgs(tool, args)
	}
	p.Invocation = toolspec.Invocation{
		ToolID: p.ToolID, ToolCallID: t.callID(i, call.ID), Args: args,
		Context: t.Context, AllowedConnectionIDs: slices.Clone(t.AllowedConnectionIDs),
		Provider: t.native(call),
	}
	p.Invocation.Context.ToolIDs = slices.Clone(t.Context.ToolIDs)
	if p.ToolID == "" {
		p.Invocation.ToolID = toolspec.UnknownTool(call.Name)
	}
	if t.Prepare != nil {
		return p, t.prepare(&p.Invocation)
	}
	return p, nil
}

// prepare calls Prepare and checks that it changed nothing that it must not change.
func (t Turn) prepare(inv *toolspec.Invocation) error {
	before := inv.Clone()
	if err := t.Prepare(inv); err != nil {
		return err
	}
	if inv.Identity() != before.Identity() || inv.ToolID != before.ToolID || !bytes.Equal(inv.Args, before.Args) {
		return errors.New("the function Prepare changed the identity, the tool or the arguments")
	}
	return nil
}

// callID returns the provider's id if it can be the id of a call, and otherwise <Key>-<index>.
func (t Turn) callID(i int, provider string) string {
	if t.OwnIDs || toolspec.CheckToolCallID(provider) != nil || toolspec.SecretValue(provider) {
		return t.Key + "-" + strconv.Itoa(i)
	}
	return provider
}

// native returns the call as the provider wrote it, for the record. If that is too large, or if a worker would
// refuse the call because of it, native returns only the id and the name of the call, or nothing if a worker would
// refuse these too.
func (t Turn) native(call wire.Call) *toolspec.Provider {
	p := &toolspec.Provider{Name: t.Codec.Format(), ToolCall: slices.Clone(call.Raw)}
	if len(p.ToolCall) <= maxNative && keepable(p.ToolCall) {
		return p
	}
	names, err := json.Marshal(struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}{call.ID, call.Name})
	if p.ToolCall = names; err != nil || len(names) > maxNative || !keepable(names) {
		p.ToolCall = nil
	}
	return p
}

// keepable reports whether a worker accepts an invocation that has raw as the provider's own form of the call. Raw
// can have any content, and because of it a call must not be refused.
func keepable(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	probe, err := json.Marshal(toolspec.Invocation{
		ToolID: "core__probe", ToolCallID: "probe", Context: toolspec.Context{TenantID: "probe", RunID: "probe", ActorID: "agent:probe"},
		Provider: &toolspec.Provider{ToolCall: raw},
	})
	if err != nil {
		return false
	}
	_, fault := hydrate.Decode(probe)
	return fault == nil && utf8.Valid(raw)
}

func (p *PlannedCall) refuse(code toolspec.Code, message string) {
	result := toolspec.Failure(code, message, nil)
	p.Refused, p.Invocation = &result, toolspec.Invocation{}
}

// refuseTakenIDs handles a response in which two calls have the same id. If both calls are equal, the later call
// gets the index of the earlier one in Same: the call runs once and is answered twice. If they differ, the later
// call is refused.
func refuseTakenIDs(calls []PlannedCall) {
	first := map[string]int{}
	digests := make([]string, len(calls))
	for i := range calls {
		p := &calls[i]
		if p.Refused != nil {
			continue
		}
		digest, err := hydrate.InputDigest(p.Invocation)
		if err != nil {
			p.refuse(toolspec.CodeInvalidJSON, "")
			continue
		}
		digests[i] = digest
		earlier, taken := first[p.Invocation.ToolCallID]
		switch {
		case !taken:
			first[p.Invocation.ToolCallID] = i
		case digests[earlier] == digest:
			p.Same = earlier
		default:
			p.refuse(toolspec.CodeConflict, "The id of this call is that of another call in the same response; give each call an id of its own")
		}
	}
}

// outcome returns the outcome of a call that has not started: the refusal, or Pending.
func (p *PlannedCall) outcome() Outcome {
	o := Outcome{Call: p.Call, ToolID: p.ToolID, hint: p.Hint}
	if p.Refused != nil {
		o.Result = *p.Refused
		return o
	}
	id := p.Invocation.Identity()
	o.ToolCallID, o.InvocationID, o.WorkflowID, o.Pending = id.ToolCallID, id.InvocationID(), id.WorkflowID(), true
	return o
}

// restoreArgs turns arguments in the form that was sent to the provider into arguments of the tool's own schema.
// Arguments that it cannot turn back it returns unchanged, and the worker judges them.
func restoreArgs(tool wire.Offered, args json.RawMessage) json.RawMessage {
	var mapping schema.Mapping
	args = bytes.TrimLeft(args, " \t\r\n")
	if len(tool.Mapping) == 0 || len(args) == 0 || args[0] != '{' || json.Unmarshal(tool.Mapping, &mapping) != nil {
		return args
	}
	if restored, err := mapping.Restore(args); err == nil {
		return restored
	}
	return args
}
