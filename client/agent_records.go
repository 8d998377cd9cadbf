package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// AgentRecords reads the record of runs of agents. Package client/postgres implements it.
type AgentRecords interface {
	// AgentRuns returns the tenant's runs of agents, newest first.
	AgentRuns(ctx context.Context, f AgentRunFilter) ([]AgentRunSummary, error)
	// AgentRun returns a run of an agent, and ErrNotFound if the tenant has none of this id.
	AgentRun(ctx context.Context, f RoundFilter) (AgentRunRecord, error)
}

// AgentRunFilter narrows a list of runs. Zero fields do not narrow it.
type AgentRunFilter struct {
	// TenantID is required.
	TenantID string
	// Agent is the name of an agent.
	Agent string
	// Open leaves out the runs that have ended.
	Open bool
	// After is the last run of the previous page. The list continues with older runs.
	After *AgentRunSummary
	// Limit is 1–MaxList; 0 means 50.
	Limit int
}

// RoundFilter names a run, and says which of its rounds to read.
type RoundFilter struct {
	// TenantID and RunID are required.
	TenantID, RunID string
	// Before leaves out the rounds from this number on; 0 means none.
	Before int
	// Limit is the number of rounds, 1–MaxList; 0 means 50. If there are more, the last ones are read.
	Limit int
}

// AgentRunSummary is a run of an agent in a list.
type AgentRunSummary struct {
	RunID   string `json:"runId"`
	Agent   string `json:"agent"`
	Version string `json:"version"`
	ActorID string `json:"actorId"`
	// Stays says that the run waits for the next message of a person after each final answer.
	Stays bool `json:"stays,omitempty"`
	// ForkOf is the run of which this run is a fork: this run began with the first ForkRounds rounds of that run.
	// It is empty if the run is no fork. These rounds count in the total Rounds, and in no other total.
	ForkOf     string `json:"forkOf,omitempty"`
	ForkRounds int    `json:"forkRounds,omitempty"`
	// Outcome and Reason are the outcome and the reason of the result. They are empty while the run is
	// open.
	Outcome agent.Outcome `json:"outcome,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	agent.Totals
	// PromptHash is the agent.PromptHash of the last request. Runs with the same hash asked their models
	// in the same way.
	PromptHash string `json:"promptHash,omitempty"`
	// Graph and GraphVersion name the graph to which the file of the agent belongs. GraphRunID is the caller's id
	// of the run of this graph. GraphID is context.graphId of the calls.
	Graph        string     `json:"graph,omitempty"`
	GraphVersion string     `json:"graphVersion,omitempty"`
	GraphRunID   string     `json:"graphRunId,omitempty"`
	GraphID      string     `json:"graphId,omitempty"`
	OpenedAt     time.Time  `json:"openedAt"`
	EndedAt      *time.Time `json:"endedAt,omitempty"`
}

// AgentRunRecord is what the record has about a run of an agent. Arguments are masked.
type AgentRunRecord struct {
	AgentRunSummary

	TenantID string `json:"tenantId"`
	// Began are the texts of the messages that began the run.
	Began []BeganMessage `json:"began,omitempty"`
	// Rounds are in their order.
	Rounds []AgentRound `json:"rounds,omitempty"`
	// Said are the messages that people said to the run: the messages that the rounds in Rounds have
	// read, and the messages that no round has read yet.
	Said []AgentMessage `json:"said,omitempty"`
	// Summaries are the summaries of earlier rounds that a round in Rounds was the first to read. They have no
	// texts here, because a summary can repeat arguments that the record masks.
	Summaries []AgentSummary `json:"summaries,omitempty"`
	Result    *agent.Result  `json:"result,omitempty"`
}

// AgentSummary is a summary that a model has written of all rounds before the round Before, with the tokens and
// the cost of writing it.
type AgentSummary struct {
	Before           int    `json:"before"`
	Format           string `json:"format"`
	Model            string `json:"model"`
	InputTokens      int64  `json:"inputTokens"`
	CacheReadTokens  int64  `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64  `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64  `json:"outputTokens"`
	// MicroUSD is nil if the price of the model is unknown.
	MicroUSD  *int64    `json:"microUSD,omitempty"`
	WrittenAt time.Time `json:"writtenAt"`
}

// BeganMessage is the text of a message with which a run began.
type BeganMessage struct {
	Role conversation.Role `json:"role"`
	Text string            `json:"text"`
}

// AgentMessage is a message of a person. Round is the first round whose model has read the message, or 0 if no
// round has read it yet.
type AgentMessage struct {
	Round int       `json:"round,omitempty"`
	By    string    `json:"by,omitempty"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
}

// AgentRound is one response of a model.
type AgentRound struct {
	Round            int             `json:"round"`
	Format           string          `json:"format"`
	Model            string          `json:"model"`
	Finish           wire.Finish     `json:"finish"`
	Text             string          `json:"text,omitempty"`
	Calls            []AgentCallView `json:"calls,omitempty"`
	InputTokens      int64           `json:"inputTokens"`
	CacheReadTokens  int64           `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64           `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64           `json:"outputTokens"`
	// MicroUSD is nil if the price of the model is unknown.
	MicroUSD   *int64     `json:"microUSD,omitempty"`
	AskedAt    time.Time  `json:"askedAt"`
	AnsweredAt *time.Time `json:"answeredAt,omitempty"`
}

// AgentCallView is a call of a response.
type AgentCallView struct {
	// Name is the tool name that the model wrote. ToolID, ToolCallID and InvocationID are empty for a call that
	// could not start, and for a call that is the same as an earlier call of the response. InvocationID is also
	// empty in a round that the run took over from ForkOf, because that call belongs to the other run.
	Name         string `json:"name"`
	ToolID       string `json:"toolId,omitempty"`
	ToolCallID   string `json:"toolCallId,omitempty"`
	InvocationID string `json:"invocationId,omitempty"`
	// SameAs is the index in AgentRound.Calls of the earlier call that is the same, or nil.
	SameAs *int `json:"sameAs,omitempty"`
	// Outcome is ok or an error code. It is empty while the call is open, and after the record of the call has expired.
	Outcome string `json:"outcome,omitempty"`
	// SafeArgs are the masked arguments, as the record of the call has them.
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
}

// AgentRuns lists the runs of agents of a tenant, newest first.
func (c *Client) AgentRuns(ctx context.Context, f AgentRunFilter) ([]AgentRunSummary, error) {
	switch {
	case c.agents == nil:
		return nil, fmt.Errorf("client: runs of agents: %w", ErrNoRecords)
	case f.TenantID == "":
		return nil, errors.New("client: runs of agents: the filter needs a TenantID")
	}
	return c.agents.AgentRuns(ctx, f)
}

// AgentRun returns what the record has about a run of an agent. A run that the tenant does not have is ErrNotFound.
func (c *Client) AgentRun(ctx context.Context, f RoundFilter) (AgentRunRecord, error) {
	switch {
	case c.agents == nil:
		return AgentRunRecord{}, fmt.Errorf("client: run of an agent: %w", ErrNoRecords)
	case f.TenantID == "" || f.RunID == "":
		return AgentRunRecord{}, errors.New("client: run of an agent: it needs a tenant and a run")
	}
	return c.agents.AgentRun(ctx, f)
}
