package uistream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/pawl-run/pawl/toolspec"
)

// The types of parts. Each is one of version 6.0.0 of the npm package "ai", which refuses a part with
// a field that it does not know.
const (
	typeStart           = "start"
	typeTextStart       = "text-start"
	typeTextDelta       = "text-delta"
	typeTextEnd         = "text-end"
	typeInputStart      = "tool-input-start"
	typeInputAvailable  = "tool-input-available"
	typeInputError      = "tool-input-error"
	typeApprovalRequest = "tool-approval-request"
	typeOutputAvailable = "tool-output-available"
	typeOutputError     = "tool-output-error"
	typeOutputDenied    = "tool-output-denied"
	typeApproval        = "data-approval"
	typeResult          = "data-result"
	typeFinish          = "finish"
	typeAbort           = "abort"
	typeError           = "error"
)

// Part is a part of the stream.
type Part struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId,omitempty"`
	ID           string          `json:"id,omitempty"`
	Delta        string          `json:"delta,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Dynamic      bool            `json:"dynamic,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ApprovalID   string          `json:"approvalId,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	Preliminary  bool            `json:"preliminary,omitempty"`
	ErrorText    string          `json:"errorText,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	FinishReason string          `json:"finishReason,omitempty"`
}

// ApprovalData is the data of a part data-approval: an approval request, and later its decision under
// the same id.
type ApprovalData struct {
	ToolCallID string `json:"toolCallId"`
	toolspec.RunApproval
}

// ResultData is the data of a part data-result: what an application may want to know of a result
// beside its value. It has no digest of the input: with the digest a reader could find out masked
// arguments by trying.
type ResultData struct {
	ToolCallID   string            `json:"toolCallId"`
	InvocationID string            `json:"invocationId,omitempty"`
	OK           bool              `json:"ok"`
	ErrorCode    toolspec.Code     `json:"errorCode,omitempty"`
	SafeMessage  string            `json:"safeMessage,omitempty"`
	Details      *toolspec.Details `json:"details,omitempty"`
	RetryAfterMs int64             `json:"retryAfterMs,omitempty"`
	Source       toolspec.Source   `json:"source,omitempty"`
	Attempts     int               `json:"attempts,omitempty"`
	// Kind, Bytes, Truncated and OutputRef describe the value, as in toolspec.Result.
	Kind        toolspec.ValueKind `json:"kind,omitempty"`
	Bytes       int64              `json:"bytes,omitempty"`
	Truncated   bool               `json:"truncated,omitempty"`
	OutputRef   string             `json:"outputRef,omitempty"`
	StartedAtMs int64              `json:"startedAtMs,omitempty"`
	EndedAtMs   int64              `json:"endedAtMs,omitempty"`
}

// SetHeader sets the header fields that readers of the stream look for.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
}

// Write writes a part as a server-sent event. A reader that connects again sends the id of the last
// event that it got. An empty id keeps the id of the event before.
func (p Part) Write(w io.Writer, id string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("uistream: a part %s is no JSON", p.Type)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	_, err = fmt.Fprintf(w, "%sdata: %s\n\n", id, text)
	return err
}

// WriteDone writes the event after the last part of a stream.
func WriteDone(w io.Writer) error {
	_, err := io.WriteString(w, "data: [DONE]\n\n")
	return err
}
