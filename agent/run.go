package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// The names by which clients reach a run.
const (
	// WorkflowType is the type of the workflow of a run. Its task queue is toolspec.TaskQueue.
	WorkflowType = "RunAgent"
	// MessageName is the update that adds a Message to a run. It answers when the message is stored.
	MessageName = "message"
	// InterruptName is the signal that stops a run after its current call. The request to a model is given up. A run
	// that stays ends only its turn, unless it waits for a message. It has no argument.
	InterruptName = "interrupt"
	// InterruptTurnName is the signal that does the same, but nothing while the run waits for a message. So a person
	// who interrupts an answer that has just ended does not end the run.
	InterruptTurnName = "interruptTurn"
	// StateName is the query that returns the State of a run.
	StateName = "state"
	// RunTool is the id of the tool with which an agent runs another one.
	RunTool = "core__run_agent"
	// DoneTool is the id of the tool with which the model ends its run.
	DoneTool = "core__done"
)

// TaskTimeout is the workflow task timeout of a run and of the calls that it starts. After this time, Temporal gives the task of a dead
// worker to another worker. All steps of a run may be repeated, so a task that was slow and not lost costs only their repetition.
const TaskTimeout = 2 * time.Second

// Bounds of the input of a run.
const (
	// MaxInput bounds the input, in bytes of JSON.
	MaxInput = 512 << 10
	// maxMessages bounds the messages of the input. The instructions of the agent are one message more.
	maxMessages = conversation.MaxMessages - 1
	// MaxMessage bounds the text of a Message, in bytes.
	MaxMessage = 32 << 10
	// MaxMessageID bounds the id of a Message, in characters.
	MaxMessageID = 64
	// MaxText bounds Result.Text, in bytes.
	MaxText = 32 << 10
	// MaxAnswer bounds what an agent reads of the final text of an agent that it runs, in bytes. The answer has a
	// reference to the whole text.
	MaxAnswer = 4 << 10
)

// WorkflowID is `agent:<tenantId>:<runId>`.
func WorkflowID(tenantID, runID string) string { return "agent:" + tenantID + ":" + runID }

// ChildRunID returns the id of the run that a call of RunTool starts.
func ChildRunID(invocationID string) string { return "agent-" + invocationID }

// Parent names the call by which an agent runs another one.
type Parent struct {
	// RunID is the run of the calling agent.
	RunID string `json:"runId"`
	// ToolCallID is the call of RunTool.
	ToolCallID string `json:"toolCallId"`
}

// Input is the input of the workflow RunAgent.
type Input struct {
	// Parent is set for the run of an agent that another agent has started. The record has the rest of its input, so
	// only tenantId and runId of Context may be set beside it. A caller does not set it.
	Parent *Parent `json:"parent,omitempty"`
	// Agent is the name of the agent. Version is one of its versions; empty means the active one.
	Agent   string `json:"agent"`
	Version string `json:"version,omitempty"`
	// Context is the context of every call of the run. Its toolIds narrow the tools of the agent.
	Context toolspec.Context `json:"context"`
	// Messages begin the conversation. The last one is usually that of a person. With a Fork they come after the rounds that the fork
	// keeps, and may be empty.
	Messages []conversation.Message `json:"messages"`
	// Connections maps ids of tools to the connections that their calls use.
	Connections map[string]string `json:"connections,omitempty"`
	// SubmitterProof is the submitter's proof of each call. It must be for the whole run, and valid
	// when the run starts.
	SubmitterProof string `json:"submitterProof,omitempty"`
	// Stays says that the run waits for a message after each answer of the model, until it is interrupted while
	// it waits or its time is over.
	Stays bool `json:"stays,omitempty"`
	// Fork is set for a run that goes on with the conversation of another run.
	Fork *Fork `json:"fork,omitempty"`
	// GraphRunID is the caller's id of the run of a graph to which this run belongs. Only the run of an agent with a Graph may have one. It
	// is only recorded.
	GraphRunID string `json:"graphRunId,omitempty"`
}

// ReadInput reads the input of a run. The error says what is wrong, without a value of the input.
func ReadInput(data []byte) (in Input, err error) {
	if len(data) > MaxInput {
		return Input{}, fmt.Errorf("the input is larger than %d bytes", MaxInput)
	}
	if fault := strictjson.Check(data); fault != nil {
		return Input{}, errors.New("the input is not JSON")
	}
	type fields Input
	read := struct {
		*fields
		Messages json.RawMessage `json:"messages"`
	}{fields: (*fields)(&in)}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return Input{}, errors.New("the input has a member that no run has, or a value of another type: see docs/agents-reference.md#input")
	}
	if list := string(bytes.Join(bytes.Fields(read.Messages), nil)); list != "" && list != "null" && (in.Fork == nil || list != "[]") {
		talk, err := conversation.Parse(slices.Concat([]byte(`{"messages":`), read.Messages, []byte(`}`)))
		if err != nil {
			return Input{}, fmt.Errorf("messages: %w", err)
		}
		in.Messages = talk.Messages
	}
	return in, in.Check()
}

// Check returns an error if no run can start with the input.
func (in Input) Check() error {
	if in.Parent != nil {
		return in.checkChild()
	}
	if err := toolspec.CheckVisible("agent", in.Agent, 64); err != nil {
		return err
	}
	// Check a call with the context of the run: the calls of a valid run can start.
	call := toolspec.Invocation{ToolID: DoneTool, ToolCallID: "call", Context: in.Context}
	if err := call.Check(); err != nil {
		return err
	}
	if in.Fork != nil {
		if err := in.checkFork(); err != nil {
			return err
		}
	}
	if in.GraphRunID != "" {
		if err := toolspec.CheckVisible("graphRunId", in.GraphRunID, MaxLine); err != nil {
			return err
		}
	}
	if len(in.Messages) > maxMessages {
		return fmt.Errorf("messages: more than %d messages", maxMessages)
	}
	if in.Fork == nil || len(in.Messages) > 0 {
		if err := (conversation.Conversation{Messages: in.Messages}).Check(); err != nil {
			return fmt.Errorf("messages: %w", err)
		}
	}
	for _, m := range in.Messages {
		if m.Role == conversation.System {
			return errors.New("messages: the messages of the system are the instructions of the agent")
		}
	}
	for tool, connection := range in.Connections {
		if err := toolspec.CheckToolID(tool); err != nil {
			return fmt.Errorf("connections: the tool %w", err)
		}
		if err := toolspec.CheckConnectionID(connection); err != nil {
			return fmt.Errorf("connections: %w", err)
		}
	}
	if in.SubmitterProof != "" && !toolspec.IsSubmitterProof(in.SubmitterProof) {
		return errors.New("submitterProof is not the proof of a submitter")
	}
	if data, err := json.Marshal(in); err != nil || len(data) > MaxInput {
		return fmt.Errorf("the input is larger than %d bytes, or not JSON", MaxInput)
	}
	return nil
}

// Digest returns the SHA-256 of the canonical JSON of the input, in hexadecimal. Two JSON texts of the same input
// have the same digest.
func (in Input) Digest() (string, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	return strictjson.Digest(text)
}

// checkChild checks the input of a run that another agent has started.
func (in Input) checkChild() error {
	if in.Fork != nil {
		return errors.New("fork: a run that another agent starts is not a fork")
	}
	of := toolspec.Identity{TenantID: in.Context.TenantID, RunID: in.Parent.RunID, ToolCallID: in.Parent.ToolCallID}
	if err := of.Check(); err != nil {
		return fmt.Errorf("parent: %w", err)
	}
	if in.Context.RunID != ChildRunID(of.InvocationID()) {
		return errors.New("context.runId is not that of the run that the call of the parent starts")
	}
	return nil
}

// Message is what a person says to a running agent.
type Message struct {
	// ID names the message in its run, in 1 to MaxMessageID characters. A message with the id of another one of
	// the run adds nothing.
	ID string `json:"id"`
	// Text is the message.
	Text string `json:"text"`
	// By is who says it, such as user:ann. It is recorded, and not verified.
	By string `json:"by,omitempty"`
}

// Check returns an error if a run cannot take the message.
func (m Message) Check() error {
	switch {
	case m.Text == "" || len(m.Text) > MaxMessage:
		return fmt.Errorf("a message has 1 to %d bytes of text", MaxMessage)
	case m.By != "" && toolspec.CheckActorID(m.By) != nil:
		return errors.New("by must be user:NAME, agent:NAME or service:NAME")
	}
	return toolspec.CheckVisible("the id of the message", m.ID, MaxMessageID)
}

// Outcome is how a run ended.
type Outcome string

// The outcomes of a run.
const (
	// Completed: the model gave a final answer.
	Completed Outcome = "completed"
	// Interrupted: a person stopped the run.
	Interrupted Outcome = "interrupted"
	// Cancelled: the workflow was cancelled.
	Cancelled Outcome = "cancelled"
	// OverBudget: a limit of the agent was reached.
	OverBudget Outcome = "over_budget"
	// Failed: the run could not start or go on. Reason says why.
	Failed Outcome = "failed"
)

// Result is the result of a run. Every run that ends completes its workflow with one.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Reason says why the run ended. For Completed it is empty, or says that the model did not finish its answer. It is
	// safe to show.
	Reason string `json:"reason,omitempty"`
	// Text is the final answer, or the last text of the model. Truncated says that it was longer.
	Text      string `json:"text,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	// Value is the final answer of an agent with an output schema.
	Value json.RawMessage `json:"value,omitempty"`
	// Agent and Version say what ran.
	Agent   string `json:"agent,omitempty"`
	Version string `json:"version,omitempty"`
	Totals
}

// Totals are what a run has used.
type Totals struct {
	// Rounds counts the responses of the model, and Calls the tool calls that were started.
	Rounds int `json:"rounds"`
	Calls  int `json:"calls"`
	// InputTokens counts the tokens that the provider read, without the tokens of its cache.
	InputTokens      int64 `json:"inputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64 `json:"outputTokens"`
	// MicroUSD is the cost of the model by the worker's table of prices, in millionths of a US dollar. Unpriced counts
	// the responses of models that are not in the table.
	MicroUSD int64 `json:"microUSD,omitempty"`
	Unpriced int   `json:"unpriced,omitempty"`
}

// Tokens returns all tokens.
func (t Totals) Tokens() int64 {
	return t.InputTokens + t.CacheReadTokens + t.CacheWriteTokens + t.OutputTokens
}

// Phase is what a run does now.
type Phase string

// The phases of a run.
const (
	Opening Phase = "opening"
	Asking  Phase = "asking_model"
	Calling Phase = "calling_tools"
	Waiting Phase = "waiting_for_message"
	Ended   Phase = "ended"
)

// State is the answer to the query StateName.
type State struct {
	Phase Phase `json:"phase"`
	// Round is the number of the current round, from 1.
	Round int `json:"round"`
	// Calls are the open calls. An approval that one of them waits for is in the state of the call. client.Approvals with the RunID lists the
	// approvals that all of them wait for, also inside of agents that they run.
	Calls []OpenCall `json:"calls,omitempty"`
	// Result is set when the run has ended.
	Result *Result `json:"result,omitempty"`
}

// OpenCall is a call of a run that has no result yet.
type OpenCall struct {
	ToolID       string `json:"toolId"`
	ToolCallID   string `json:"toolCallId"`
	InvocationID string `json:"invocationId"`
	WorkflowID   string `json:"workflowId"`
	// AgentRunID is the run of the agent that the call has started. Its own State has its open calls.
	AgentRunID string `json:"agentRunId,omitempty"`
}
