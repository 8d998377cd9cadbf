package agent

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

const (
	// MaxForkMessages bounds the messages of the input of a fork.
	MaxForkMessages = 64
	// MaxForkBytes bounds the rounds that a fork keeps, with their answers and messages, in bytes.
	MaxForkBytes = 8 << 20
)

// Fork names the run whose conversation another run continues.
type Fork struct {
	// RunID is the source: a run of the same tenant, actor, subject and agent that no other agent has started. It may be open.
	RunID string `json:"runId"`
	// Rounds is the number of rounds that are kept, from 0 to the last round whose calls have answers. The new run goes on after them.
	Rounds int `json:"rounds"`
}

// checkFork checks the members of an input that a fork uses in its own way.
func (in Input) checkFork() error {
	source := toolspec.Identity{TenantID: in.Context.TenantID, RunID: in.Fork.RunID, ToolCallID: "call"}
	if err := source.Check(); err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	switch {
	case in.Fork.RunID == in.Context.RunID:
		return errors.New("fork: a run is not a fork of itself; give the new run an id of its own")
	case in.Fork.Rounds < 0 || in.Fork.Rounds > MaxRounds:
		return fmt.Errorf("fork: rounds is 0 to %d", MaxRounds)
	case len(in.Messages) > MaxForkMessages:
		return fmt.Errorf("messages: a fork has at most %d", MaxForkMessages)
	}
	for _, m := range in.Messages {
		if m.Role != conversation.User || len(m.Content) != 1 || m.Content[0].Type != conversation.Text || m.Content[0].Text == "" || len(m.Content[0].Text) > MaxMessage {
			return fmt.Errorf("messages: those of a fork are of the role user, each one text of 1 to %d bytes", MaxMessage)
		}
	}
	return nil
}

// Said returns the texts of the messages of a fork.
func (in Input) Said() (texts []string) {
	for _, m := range in.Messages {
		texts = append(texts, m.Content[0].Text)
	}
	return texts
}
