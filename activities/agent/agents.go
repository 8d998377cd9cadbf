package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
	"github.com/pawl-run/pawl/workflows/contract"
)

// ErrNotFound means that there is no such run, or no such version of an agent.
var ErrNotFound = errors.New("there is no such agent or run")

// MaxUnread bounds the messages of a run that no model has read. All of them go into the next request.
const MaxUnread = 64

// Store keeps runs of agents. Errors that a retry can correct are marked errs.Transient.
type Store interface {
	// OpenAgentRun writes a run, if there is none with its ids, and returns the run with these ids.
	OpenAgentRun(ctx context.Context, r NewRun) (Run, error)
	// ForkAgentRun writes the run r with a copy of the first r.Input.Fork.Rounds rounds of the source r.Input.Fork.RunID, unless a run with
	// the ids of r exists. It returns the run with these ids. The caller must set r.Input.Messages to the messages of the source. After the
	// copied rounds, the new run has the texts in said as messages. If said is empty, it has the messages of the source for the next round.
	// If ForkAgentRun writes no run and there is none with these ids, it returns ErrNotFound if the source does not exist or has a parent,
	// ErrNoRound or ErrForkTooLarge.
	ForkAgentRun(ctx context.Context, r NewRun, said []string) (Run, error)
	// AgentRun returns a run, and ErrNotFound if there is none.
	AgentRun(ctx context.Context, of contract.AgentRun) (Run, error)
	// SayToAgent stores a message, if its id is new in the run, and returns its number. For an id that the run has, it returns
	// the number of the stored message, also after the end of the run. For a new id it returns 0 if the run has MaxUnread
	// messages that no model has read, and ErrNotFound if the run has ended or does not exist. Messages that are sent at the
	// same moment can exceed MaxUnread.
	SayToAgent(ctx context.Context, of contract.AgentRun, m pawlagent.Message) (int64, error)
	// AgentRound returns one round. found is false if no response was recorded.
	AgentRound(ctx context.Context, of contract.AgentRun, round int) (r Round, found bool, err error)
	// AgentRunAt returns a run as AgentRun does, and one of its rounds as AgentRound does. The two results agree: if run.Round is at least round,
	// found is true.
	AgentRunAt(ctx context.Context, of contract.AgentRun, round int) (run Run, r Round, found bool, err error)
	// AgentConversation returns the conversation of a run from round c.From on. Rounds before c.TrimmedTo have the answers that RecordAnswers
	// got as trimmed, if the record has them.
	AgentConversation(ctx context.Context, of contract.AgentRun, c Context) (Conversation, error)
	// MoveContext stores c for the next requests of a run. A number of c that is smaller than the stored number changes nothing.
	MoveContext(ctx context.Context, of contract.AgentRun, c Context) error
	// RecordSummary stores a summary of the rounds before c.From, moves the Context of the run to c, and adds the usage of the summary to the
	// totals. It does nothing if requests of the run leave out these rounds already. ErrNotFound means that the run has ended.
	RecordSummary(ctx context.Context, of contract.AgentRun, c Context, s NewSummary) error
	// RecordRound writes a round, if it is not recorded yet, with the hash of its prompt (agent.PromptHash). It assigns to this round the
	// messages of people that belong to no round yet, up to the message with the number taken. ErrNotFound means that the run has ended.
	RecordRound(ctx context.Context, of contract.AgentRun, r Round, promptHash string, taken int64) error
	// AddUsage adds the usage of a response that was not recorded as a round. It does nothing for a run that has ended. microUSD is nil if
	// the price of the model is unknown.
	AddUsage(ctx context.Context, of contract.AgentRun, u wire.Usage, microUSD *int64) error
	// RecordAnswers writes the answers of a round, if it has none. trimmed are the same answers with references in place of
	// their outputs.
	RecordAnswers(ctx context.Context, of contract.AgentRun, round int, answers, trimmed []wire.Answer) error
	// CloseAgentRun ends a run, if it has not ended, and returns its result. answer is the whole final text. If the run
	// has a parent, CloseAgentRun adds the tokens and the cost of the run to the parent.
	CloseAgentRun(ctx context.Context, of contract.AgentRun, result pawlagent.Result, answer string) (pawlagent.Result, error)
}

// NewRun is a run that begins.
type NewRun struct {
	Run contract.AgentRun
	// Namespace is the Temporal namespace of the workflow.
	Namespace   string
	InputDigest string
	Document    pawlagent.Document
	Input       pawlagent.Input
}

// Run is a run as the record has it.
type Run struct {
	// Namespace is the Temporal namespace of its workflow. It may be empty for a run that an earlier release has recorded.
	Namespace   string
	InputDigest string
	Document    pawlagent.Document
	// Input is the input of the run. If the run has a Parent, its calls count as calls of the parent's run: Input.Context
	// then has the run id of the parent.
	Input pawlagent.Input
	// Parent is the call that has started the run, or nil if no call has started it.
	Parent  *pawlagent.Parent
	Context Context
	// Summary is the last summary.
	Summary Summary
	// OpenedAt is when the run was opened, by the clock of the database.
	OpenedAt time.Time
	// Round is the last recorded round, or 0.
	Round int
	// Said is the number of the last message of a person.
	Said int64
	// Taken is the number of the last message of a person that a request of a recorded round had.
	Taken  int64
	Totals pawlagent.Totals
	// Result is set if the run has ended.
	Result *pawlagent.Result
}

// Context says how much of a run's conversation the requests to the model have: no round before From, and in
// the rounds before TrimmedTo references in place of the outputs of tools. Both numbers are at least 1 and only
// grow. It is not the context of a call (toolspec.Context).
type Context struct{ TrimmedTo, From int }

// Round is one response of a model, with the answers to its calls.
type Round struct {
	Round         int
	Format, Model string
	Plan          Plan
	// Answers are nil while the calls run.
	Answers []wire.Answer
	Usage   wire.Usage
	// MicroUSD is nil if the price of the model is unknown.
	MicroUSD *int64
}

// Conversation has the messages of a model and of people in a run.
type Conversation struct {
	// Rounds are the rounds without calls and the rounds whose calls all have answers, in their order.
	Rounds []Round
	// Said are the messages of people that belong to these rounds or to no round yet, in the order in which people sent them.
	Said []Said
}

// Said is a message of a person. Round is 0 if the message belongs to no round yet.
type Said struct {
	Seq   int64
	Round int
	Text  string
}

// Broker leases the connection with which a request to a model is sent.
type Broker interface {
	Lease(ctx context.Context, r broker.Request) (*broker.Lease, broker.Answer, error)
}

// Agents has the activities of runs. Broker, Price and Reason may be nil; the other fields are needed.
type Agents struct {
	// Namespace is the Temporal namespace of the worker.
	Namespace string
	Store     Store
	// Triggers has the triggers of schedules.
	Triggers trigger.Store
	// Document returns a version of an agent. An empty version is the active one. ErrNotFound means that there is no such
	// version, or that the agent is retired.
	Document func(ctx context.Context, name, version string) (pawlagent.Document, error)
	Client   *client.Client
	Broker   Broker
	// Roles returns the roles that an identity of a tenant has by the active policy.
	Roles func(ctx context.Context, tenantID, identity string) ([]string, error)
	// Vouched reports whether a submitter vouches for the claims with a proof that is valid now. nil vouches for nothing.
	Vouched func(ctx context.Context, proof string, claims toolspec.SubmitterClaims) (bool, error)
	// Killed returns the reason of a kill switch that stops the runs of an agent, or an empty text.
	Killed func(ctx context.Context, tenantID, name string) (string, error)
	// URLs are the base URLs of the APIs that may be asked without a connection. HTTP sends these requests.
	URLs []string
	HTTP *http.Client
	// Price returns the cost of a response in millionths of a US dollar, and false for a model without a price.
	Price func(format, model string, u wire.Usage) (int64, bool)
	// Reason keeps a step of the reasoning of a model for core__read_reasoning. nil keeps none. A *capability.MemoryError says that memory
	// does not take it.
	Reason func(ctx context.Context, by capability.MemoryCaller, text string) (capability.MemoryEntry, error)
	// Watch is called before each request to a model. It returns the context of the request, and a function that is then called with the response,
	// or with the part of the response that arrived before an error. nil watches nothing.
	Watch func(ctx context.Context, format, model string) (context.Context, func(wire.Response, error))
	// Secrets are the live secrets. No response of a model is recorded or shown with one of them. nil has none.
	Secrets *fingerprint.Set
	// Requests bounds the requests to models that this worker sends for one tenant at the same time; 0 sets no bound.
	Requests int
	Log      *slog.Logger

	room room.Room
}

// Register registers the activities.
func (a *Agents) Register(r contract.Registry) {
	contract.Bind(r, contract.AgentOpen, a.Log, a.Open)
	contract.Bind(r, contract.AgentSay, a.Log, a.Say)
	contract.Bind(r, contract.AgentAsk, a.Log, a.Ask)
	contract.Bind(r, contract.AgentRound, a.Log, a.Round)
	contract.Bind(r, contract.AgentAnswer, a.Log, a.Answer)
	contract.Bind(r, contract.AgentClose, a.Log, a.Close)
	contract.Bind(r, contract.AgentJoin, a.Log, a.Join)
	contract.Bind(r, contract.TriggerFire, a.Log, a.Fire)
}

// codecs has the codec of each format of model providers.
var codecs = map[string]wire.Codec{
	"openai": openai.Codec{}, "responses": responses.Codec{}, "anthropic": anthropic.Codec{}, "ollama": ollama.Codec{}, "gemini": gemini.Codec{},
}

// Plan is the response of a model, as the record keeps it.
type Plan struct {
	// Message, Text and Finish are the fields of the response with these names.
	Message json.RawMessage `json:"message,omitempty"`
	Text    string          `json:"text,omitempty"`
	Finish  wire.Finish     `json:"finish"`
	Calls   []PlannedCall   `json:"calls,omitempty"`
	// Offered are the ids of the tools in the request, if the agent limits their number (Limits.Offered).
	Offered []string `json:"offered,omitempty"`
	// Correction says to the model why its final answer does not count. The next request has it as a message of the user.
	Correction string `json:"correction,omitempty"`
	// Value is the final answer of an agent with an output schema.
	Value json.RawMessage `json:"value,omitempty"`
	// OverBudget names the limit of the run at which the response was cut, or is empty. The run ends with this reason.
	OverBudget string `json:"overBudget,omitempty"`
}

// PlannedCall is a call of a response.
type PlannedCall struct {
	// ID and Name are the id and the tool name of the call in the response.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Given are the arguments as the model wrote them.
	Given []byte `json:"given,omitempty"`
	// Hint tells the model why Name names no tool.
	Hint string `json:"hint,omitempty"`
	// Refused is the result of a call that cannot start.
	Refused *toolspec.Result   `json:"refused,omitempty"`
	Call    contract.AgentCall `json:"call"`
}
