package client

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
	"github.com/pawl-run/pawl/toolspec/wire"
)

// maxNative bounds the provider's own piece that a call carries, in bytes; of a
// larger one the names go.
const maxNative = 32 << 10

// maxRead bounds the arguments that are looked at, in bytes. To parse some takes a
// hundred times as much. It is more than a call may have, for a strict form is longer
// than what it stands for.
const maxRead = toolspec.MaxInvocation

// Plan is what a response asks for, with nothing started.
type Plan struct {
	Response wire.Response
	Calls    []PlannedCall
}

// PlannedCall is a call as Turn would start it.
type PlannedCall struct {
	Call wire.Call
	// ToolID is what the call's name stands for: the tool that was offered under it, or
	// the name itself where it could be a tool's; else it is empty, and the call is
	// recorded as one of no tool (toolspec.UnknownTool).
	ToolID string
	// Invocation is what would start; not where Refused stands.
	Invocation toolspec.Invocation
	// Refused is the answer of a call that cannot start.
	Refused *toolspec.Result
	// same is the index of an earlier call of which this is a copy, or -1.
	same int
	// hint is for the model, where its name stands for nothing.
	hint string
	// alone says that the call may have an effect.
	alone bool
}

// Plan reads a response and says what Turn would do. It starts nothing, and asks
// nobody.
func (t Turn) Plan(response io.Reader) (Plan, error) {
	if err := t.check(); err != nil {
		return Plan{}, err
	}
	decoded, err := t.read(response)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Response: decoded}
	for i, call := range decoded.Calls {
		p, err := t.plan(i, call, decoded.Finish)
		if err != nil {
			return Plan{}, fmt.Errorf("client: turn %s: call %d: %w", t.Key, i, err)
		}
		plan.Calls = append(plan.Calls, p)
	}
	oneCallEach(plan.Calls)
	return plan, nil
}

func (t Turn) plan(i int, call wire.Call, finish wire.Finish) (PlannedCall, error) {
	p := PlannedCall{Call: call, same: -1, alone: true}
	tool, err := t.Offer.Names.Resolve(call.Name)
	p.ToolID = call.Name
	switch {
	case err == nil && tool.Name != call.Name && tool.ToolID != call.Name && toolspec.CheckToolID(call.Name) == nil:
		// A whole id is never short for another tool's, also where that one was offered.
	case err == nil:
		p.ToolID, p.alone = tool.ToolID, tool.Effect != toolspec.ReadOnly
	case errors.Is(err, wire.ErrAmbiguous):
		p.ToolID, p.hint = "", err.Error()
	case toolspec.CheckToolID(call.Name) != nil:
		p.ToolID, p.hint = "", err.Error()
	}
	if finish != wire.FinishCalls {
		// A response that was cut off, or refused, asked for nothing that counts.
		p.refuse(toolspec.CodeIncomplete, "")
		return p, nil
	}
	if call.Fault != "" {
		// What arrived may look whole, or like no arguments, and is not what was meant.
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
		args = restored(tool, args)
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

// prepare lets the caller complete an invocation.
func (t Turn) prepare(inv *toolspec.Invocation) error {
	before := inv.Clone()
	if err := t.Prepare(inv); err != nil {
		return err
	}
	if inv.Identity() != before.Identity() || inv.ToolID != before.ToolID || !bytes.Equal(inv.Args, before.Args) {
		return errors.New("client: Prepare changed the identity, the tool or the arguments")
	}
	return nil
}

// callID is the provider's id where it can name a call, else one that the turn
// gives: always the same.
func (t Turn) callID(i int, provider string) string {
	if t.OwnIDs || toolspec.CheckToolCallID(provider) != nil || toolspec.SecretValue(provider) {
		return t.Key + "-" + strconv.Itoa(i)
	}
	return provider
}

// native is the provider's own piece, for the record, where it may stand in one.
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

// keepable reports whether a worker takes a piece of a provider's. Providers put
// into it what they like, and that must not keep a call from running.
func keepable(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	probe, err := json.Marshal(toolspec.Invocation{
		ToolID: "core__probe", ToolCallID: "probe", Context: toolspec.Context{TenantID: "probe", RunID: "probe", ActorID: "probe"},
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

// oneCallEach settles what becomes of ids that a response gives twice. The same call
// once more is the same call: it runs once, and is answered each time. Another call
// under a taken id is refused, whichever would have been faster.
func oneCallEach(calls []PlannedCall) {
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
		j, taken := first[p.Invocation.ToolCallID]
		switch {
		case !taken:
			first[p.Invocation.ToolCallID] = i
		case digests[j] == digest:
			p.same = j
		default:
			p.refuse(toolspec.CodeConflict, "The id of this call is that of another call in the same response; give each call an id of its own")
		}
	}
}

// outcome is where a call stands before anything has started.
func (p *PlannedCall) outcome() Outcome {
	o := Outcome{Call: p.Call, ToolID: p.ToolID, hint: p.hint}
	if p.Refused != nil {
		o.Result = *p.Refused
		return o
	}
	id := p.Invocation.Identity()
	o.ToolCallID, o.InvocationID, o.WorkflowID, o.Pending = id.ToolCallID, id.InvocationID(), id.WorkflowID(), true
	return o
}
