package trigger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// Event is what happened.
type Event struct {
	// ID names the event among those of its trigger, in 1 to MaxEventID visible characters. Another delivery with the
	// same id is the same event.
	ID string
	// Data is JSON of at most MaxEvent bytes.
	Data json.RawMessage
}

// ownPrefix is the prefix of the ids of runs that events of Pawl start. Migration 38 has it too: such runs have no events for triggers, so that no
// trigger starts runs without end.
const ownPrefix = "trigger-pawl-"

// RunID returns the id of the run that an event of this trigger starts. It depends on the tenant and the name of the trigger, on whether its events
// are those of Pawl, and on the id of the event, and not on the version of the trigger.
func (d Document) RunID(eventID string) string {
	hash := sha256.New()
	for _, part := range []string{"pawl trigger 1", d.TenantID, d.Name, eventID} {
		_, _ = hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a hash takes everything
		_, _ = hash.Write([]byte(part))
	}
	prefix := "trigger-"
	if d.On == Own {
		prefix = ownPrefix
	}
	return prefix + hex.EncodeToString(hash.Sum(nil)[:16])
}

// Input returns the input of the run that an event starts. Only the message and the id of the run depend on the event.
// The error is a *RefusedError if the event starts no run.
func (d Document) Input(e Event) (agent.Input, error) {
	if checkEventID(e.ID) != nil {
		return agent.Input{}, &RefusedError{"the id of the event is empty, too long, or has characters that are not shown"}
	}
	text, err := d.Message(e)
	if err != nil {
		return agent.Input{}, err
	}
	in := agent.Input{
		Agent: d.Agent, Version: d.AgentVersion,
		Context: toolspec.Context{
			TenantID: d.TenantID, RunID: d.RunID(e.ID), ActorID: d.ActorID, SessionID: d.SessionID, ToolIDs: slices.Clone(d.Tools),
		},
		Messages:    []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}}},
		Connections: maps.Clone(d.Connections),
	}
	if err := in.Check(); err != nil {
		return agent.Input{}, &RefusedError{"no run can start: " + err.Error()}
	}
	return in, nil
}

func checkEventID(id string) error {
	return toolspec.CheckVisible("the id of the event", id, MaxEventID)
}
