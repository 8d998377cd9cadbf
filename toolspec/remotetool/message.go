package remotetool

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Operation is what a request asks for.
type Operation string

// The operations.
const (
	// Run runs the tool.
	Run Operation = "run"
	// Probe asks whether earlier attempts of the call had their effect. It must change nothing.
	Probe Operation = "probe"
)

// ToolRequest is the body of a request to a remote worker, as JSON.
type ToolRequest struct {
	// Operation is run or probe.
	Operation Operation `json:"operation"`
	// ToolID is the id of the tool.
	ToolID string `json:"toolId"`
	// ToolVersion is the version of the tool in the document of tools. A worker that has another version answers absent.
	ToolVersion string `json:"toolVersion"`
	// InvocationID is the id of the call.
	InvocationID string `json:"invocationId"`
	// IdempotencyKey is the same for every attempt of the call. Hand it to a service that takes such keys.
	IdempotencyKey string `json:"idempotencyKey"`
	// Attempt counts the attempts of the call from 1.
	Attempt int `json:"attempt"`
	// Epoch is raised before each probe, and whenever another run takes the call over. A service that can fence refuses an
	// epoch below the highest that it has seen of the idempotency key.
	Epoch int `json:"epoch"`
	// TimeoutMs is the time that is left for the answer, in milliseconds. The connection is closed when it is over, or
	// when the call is cancelled.
	TimeoutMs int64 `json:"timeoutMs"`
	// Context says who calls, for whom and in what run.
	Context RequestContext `json:"context"`
	// Args are the validated arguments, a JSON object.
	Args json.RawMessage `json:"args"`
	// Lease says where the worker gets the credential of the connection of the call. It is absent if the tool needs no connection.
	Lease *RequestLease `json:"lease,omitempty"`
}

// RequestLease names the credential of a connection. It can be redeemed once, until the attempt ends.
type RequestLease struct {
	// ID is the opaque id of the lease.
	ID string `json:"id"`
	// URL is the address at which the worker redeems the lease with a signed request.
	URL string `json:"url"`
}

// RequestContext is what a remote tool learns about the origin of a call.
type RequestContext struct {
	// TenantID is the tenant of the call.
	TenantID string `json:"tenantId"`
	// RunID is the run of the call.
	RunID string `json:"runId"`
	// ActorID is the identity that calls.
	ActorID string `json:"actorId"`
	// SubjectID is the identity on whose behalf the actor calls.
	SubjectID string `json:"subjectId,omitempty"`
	// SessionID is the session of the call.
	SessionID string `json:"sessionId,omitempty"`
	// RequestID is the caller's id of the request that led to the call.
	RequestID string `json:"requestId,omitempty"`
}

// AnswerOutcome says how a request ended.
type AnswerOutcome string

// The outcomes. The first five answer run, and the last three answer probe.
const (
	// Done: the tool has the value.
	Done AnswerOutcome = "done"
	// Failed: the tool failed. With a message, the failure is final. Without one, a tool that may be repeated gets another
	// attempt, and a tool that must not be repeated may have had its effect.
	Failed AnswerOutcome = "failed"
	// Busy: nothing happened, and another attempt may follow.
	Busy AnswerOutcome = "busy"
	// Absent: nothing happened, because the worker does not have this version of the tool.
	Absent AnswerOutcome = "absent"
	// Unanswered: the tool does not know whether it had its effect.
	Unanswered AnswerOutcome = "unanswered"
	// TookEffect: an earlier attempt had its effect, and value is its value.
	TookEffect AnswerOutcome = "took_effect"
	// NoEffect: no attempt had an effect, and none will have one.
	NoEffect AnswerOutcome = "no_effect"
	// Unclear: the probe cannot tell.
	Unclear AnswerOutcome = "unclear"
)

// ToolAnswer is the body of an answer of a remote worker, as JSON.
type ToolAnswer struct {
	// Outcome says how the request ended.
	Outcome AnswerOutcome `json:"outcome"`
	// Value is the value of the tool, with the outcomes done and took_effect.
	Value json.RawMessage `json:"value,omitempty"`
	// Message is a text for people and models, of at most 2000 bytes, with the outcomes failed, busy and unanswered. It
	// must hold no argument, no value and no secret.
	Message string `json:"message,omitempty"`
	// RetryAfterMs is the time before the next attempt in milliseconds, with the outcome busy. 0 means ten seconds.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
}

// requestOf returns the request of a call.
func requestOf(op Operation, t Tool, args json.RawMessage, call toolspec.Call) ToolRequest {
	c := call.Context
	return ToolRequest{
		Operation: op, ToolID: t.ID, ToolVersion: t.Version, InvocationID: call.InvocationID, IdempotencyKey: call.IdempotencyKey,
		Attempt: call.Attempt, Epoch: call.Epoch, Args: args,
		Context: RequestContext{
			TenantID: c.TenantID, RunID: c.RunID, ActorID: c.ActorID, SubjectID: c.SubjectID, SessionID: c.SessionID, RequestID: c.RequestID,
		},
	}
}
