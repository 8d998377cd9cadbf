package contract

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
)

// The activities of a run of an agent. The database holds the messages, calls and answers of the run. A repeated
// activity, also in another run of the workflow, finds the recorded data and changes nothing.
var (
	AgentOpen   = Activity[AgentOpenIn, AgentOpenOut]{name: "agentOpen"}
	AgentSay    = Activity[AgentSayIn, AgentSayOut]{name: "agentSay"}
	AgentAsk    = Activity[AgentAskIn, AgentAskOut]{name: "agentAsk", regular: true}
	AgentRound  = Activity[AgentRoundIn, AgentRoundOut]{name: "agentRound"}
	AgentAnswer = Activity[AgentAnswerIn, AgentAnswerOut]{name: "agentAnswer"}
	AgentClose  = Activity[AgentCloseIn, AgentCloseOut]{name: "agentClose"}
	AgentJoin   = Activity[AgentJoinIn, AgentJoinOut]{name: "agentJoin", regular: true}
)

// AgentAskTime bounds one run of AgentAsk. A model may take minutes for its response.
const AgentAskTime = 15 * time.Minute

// AgentAnswerTime bounds one run of AgentAnswer. It reads and writes the answers to all calls of a response, also images.
const AgentAnswerTime = 30 * time.Second

// AgentRun names a run of an agent.
type AgentRun struct {
	TenantID string `json:"tenantId"`
	RunID    string `json:"runId"`
}

// AgentOpenIn is the input of AgentOpen, which reads the input of a run and records the run if it is new. For a run
// that the record has, AgentOpen returns the round with which the run continues.
type AgentOpenIn struct {
	// Input is the undecoded input of the workflow; empty if the input is not JSON.
	Input []byte `json:"input"`
}

// AgentOpenOut is the answer of AgentOpen.
type AgentOpenOut struct {
	Run AgentRun `json:"run"`
	// Result is set if the run cannot start, or has ended before.
	Result *agent.Result `json:"result,omitempty"`
	// Context is the context of every call of the run. Its toolIds are the tools of the agent.
	Context        toolspec.Context `json:"context"`
	Connections    []string         `json:"connections,omitempty"`
	SubmitterProof string           `json:"submitterProof,omitempty"`
	Stays          bool             `json:"stays,omitempty"`
	HasFallback    bool             `json:"hasFallback,omitempty"`
	// AtOnce is the limit of calls that run at the same time.
	AtOnce int `json:"atOnce"`
	// EndsAtMs is the deadline of the run, in milliseconds since 1970-01-01 UTC.
	EndsAtMs int64 `json:"endsAtMs"`
	// Round is the number of the round with which the run continues: the last recorded round, whose calls may not all have
	// an answer, or 1.
	Round int `json:"round"`
	// Said is the number of the last message that was sent to the run.
	Said int64 `json:"said,omitempty"`
}

// AgentSayIn is the input of AgentSay, which stores a message for the next round.
type AgentSayIn struct {
	Run     AgentRun      `json:"run"`
	Message agent.Message `json:"message"`
}

// AgentSayOut is the answer of AgentSay.
type AgentSayOut struct {
	// Said is the number of the message. Messages of a run have rising numbers. Said is 0 if the message was not
	// stored, because too many messages wait until the model reads them.
	Said int64 `json:"said"`
	// Ended says that the message was not stored, because the run has ended.
	Ended bool `json:"ended,omitempty"`
}

// AgentAskIn is the input of AgentAsk, which asks the model of a run for the response of a round, once.
type AgentAskIn struct {
	Run   AgentRun `json:"run"`
	Round int      `json:"round"`
	// Fallback says that the activity asks the fallback model of the agent.
	Fallback bool `json:"fallback,omitempty"`
}

// AgentAskOut is the answer of AgentAsk. Everybody with access to the namespace can give such an answer, so it does not hold
// the response of the model: AgentRound reads the response from the record.
type AgentAskOut struct {
	// Fault says why there is no response to record; nil otherwise.
	Fault *AgentFault `json:"fault,omitempty"`
}

// AgentRoundIn is the input of AgentRound, which reads the response of a round.
type AgentRoundIn struct {
	Run   AgentRun `json:"run"`
	Round int      `json:"round"`
	// OverBudget is AgentFault.Reason if AgentAsk answered that the request is over budget; otherwise empty. The run then
	// ends with this reason, unless the record has a response.
	OverBudget string `json:"overBudget,omitempty"`
}

// AgentRoundOut is the answer of AgentRound.
type AgentRoundOut struct {
	// Recorded says that the record has the response. If it is false, all fields except End are empty.
	Recorded bool `json:"recorded,omitempty"`
	// End is set if the run must end now: before this round, or with the response of this round.
	End *AgentEnd `json:"end,omitempty"`
	// Taken is the number of the last message of a person that the model has read, in this round or in an earlier round.
	Taken int64 `json:"taken,omitempty"`
	// Calls are the calls of the response, in its order. Without a call the response is final, unless Again is set.
	Calls []AgentCall `json:"calls,omitempty"`
	// Again says that the run asks the model once more, because its answer does not fit the output schema.
	Again bool `json:"again,omitempty"`
	// Answered says that the record has the answers to all calls.
	Answered bool `json:"answered,omitempty"`
	// Final says that one of the answered calls has ended the run.
	Final bool `json:"final,omitempty"`
}

// AgentCall is a call of a response.
type AgentCall struct {
	// ToolID and ToolCallID are the ids of the invocation. They are empty for a call that does not start, because it was refused or is the
	// same as an earlier call.
	ToolID       string             `json:"toolId,omitempty"`
	ToolCallID   string             `json:"toolCallId,omitempty"`
	Args         json.RawMessage    `json:"args,omitempty"`
	ConnectionID string             `json:"connectionId,omitempty"`
	Provider     *toolspec.Provider `json:"provider,omitempty"`
	// Same is the index of an earlier, equal call of the response, whose answer counts for both; -1 if there is none.
	Same int `json:"same"`
	// Alone says that the call may have an effect, so no other call of the response runs at the same time.
	Alone bool `json:"alone,omitempty"`
	// Ends says that the run ends if the call succeeds.
	Ends bool `json:"ends,omitempty"`
}

// AgentFault says why a request to a model gave no response.
type AgentFault struct {
	// Reason is safe to show.
	Reason string `json:"reason"`
	// Retry says that the same request may succeed later.
	Retry bool `json:"retry,omitempty"`
	// AfterMs is how long the provider asks to wait before the next request, in milliseconds.
	AfterMs int64 `json:"afterMs,omitempty"`
	// OverBudget says that the model was not asked, because the request would use more of a limit than the run has left. The workflow passes
	// Reason to AgentRound, which ends the run. It does not end the run itself: a workflow of an earlier release called AgentRound after this
	// answer, and its history must replay.
	OverBudget bool `json:"overBudget,omitempty"`
}

// AgentEnd says how a run ends.
type AgentEnd struct {
	Outcome agent.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
}

// AgentAnswerIn is the input of AgentAnswer, which stores the answers to the calls of a round.
type AgentAnswerIn struct {
	Run   AgentRun `json:"run"`
	Round int      `json:"round"`
	// Results are the results of the calls by their indexes. AgentAnswer ignores the results of calls that could not start,
	// and of calls that are the same as an earlier call.
	Results []toolspec.Result `json:"results"`
	// Joined are the indexes of the results that came from the activity Join. Everybody with access to the namespace can
	// give such a result, so AgentAnswer takes the results of the record instead.
	Joined []int `json:"joined,omitempty"`
}

// AgentAnswerOut is the answer of AgentAnswer.
type AgentAnswerOut struct {
	// Final says whether a call has ended the run. It is nil if Joined was empty: the workflow then knows from its own
	// results whether a call has ended the run.
	Final *bool `json:"final,omitempty"`
}

// AgentCloseIn is the input of AgentClose, which ends a run, or the turn of a run that stays.
type AgentCloseIn struct {
	Run   AgentRun `json:"run"`
	Round int      `json:"round"`
	// Said is the number of the last message of the turn. With Round it names the turn.
	Said int64 `json:"said,omitempty"`
	// Stays says that only the turn ends, and the run waits for the next message.
	Stays bool     `json:"stays,omitempty"`
	End   AgentEnd `json:"end"`
}

// AgentCloseOut is the answer of AgentClose.
type AgentCloseOut struct {
	Result agent.Result `json:"result"`
}

// AgentJoinIn is the input of AgentJoin, which waits for the end of a run of an agent that the workflow started before it was reset.
type AgentJoinIn struct {
	Run AgentRun `json:"run"`
}

// AgentJoinOut is the answer of AgentJoin.
type AgentJoinOut struct{}
