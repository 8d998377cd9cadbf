package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// MaxTurnText bounds the text of one TurnEvent, in bytes.
	MaxTurnText = 16 << 10
	// MaxTurnKey bounds the key of a turn, in bytes.
	MaxTurnKey = 64
)

// ErrRunOpen is the error of Append for the end of a turn while a call of the run has started, or has asked for an
// approval, and has no result yet. RunDone must come after the results of all such calls.
var ErrRunOpen = errors.New("client: a call of the run has no result yet")

// ErrTextMissing is the error of Append for a text at an Offset that the text of the turn has not reached: append
// the earlier parts first.
var ErrTextMissing = errors.New("client: the text of the turn before this offset is missing")

// TurnEvent is a part of a model's turn for the watchers of its run: a part of its text, which they
// see as RunTextDelta, or its end, which they see as RunDone.
type TurnEvent struct {
	// Key names the turn in its run, in 1–MaxTurnKey bytes.
	Key string
	// Text is the part of the turn's text, up to MaxTurnText bytes of UTF-8, that begins after Offset bytes.
	Text   string
	Offset int64
	// OwnerID is the identity that may watch the text, such as user:ann.
	OwnerID string
	// Done ends the turn. Text is empty then.
	Done bool
}

// Runs reads and appends the events of runs. Package client/postgres implements it.
type Runs interface {
	// Watch yields the events of a run whose Seq is greater than the parameter after, in the order of
	// Seq, and then waits for more. It ends without an error when ctx ends. Each event is yielded
	// once. A run without events is not an error: it may begin later.
	Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error]
	// Append writes the part of a turn that the run does not have yet. See Client.Append.
	Append(ctx context.Context, tenantID, runID string, e TurnEvent) error
	// Run returns the summary of a run of the tenant, and ErrNotFound for a run without events.
	Run(ctx context.Context, tenantID, runID string) (RunSummary, error)
}

// RunSummary has the totals of the calls of a run. A call counts when it has its result.
type RunSummary struct {
	TenantID string `json:"tenantId"`
	RunID    string `json:"runId"`
	// LastSeq is the Seq of the last event.
	LastSeq int64 `json:"lastSeq"`
	// Calls is the number of calls with a result. Outcomes has the number by outcome: "ok" or an
	// error code.
	Calls    int64            `json:"calls"`
	Outcomes map[string]int64 `json:"outcomes"`
	Attempts int64            `json:"attempts"`
	// LatencyMs is the sum and MaxLatencyMs the maximum of the times from admission to the result,
	// in milliseconds. Both include ApprovalWaitMs, the time in which calls waited for people.
	LatencyMs      int64 `json:"latencyMs"`
	MaxLatencyMs   int64 `json:"maxLatencyMs"`
	ApprovalWaitMs int64 `json:"approvalWaitMs"`
	// ResultBytes is the size of the results as the record stores them, without stored outputs.
	ResultBytes int64 `json:"resultBytes"`
	// FirstStartedAt is when the first of these calls was admitted, LastEndedAt when the last one ended.
	// Both are nil before the first result.
	FirstStartedAt *time.Time `json:"firstStartedAt,omitempty"`
	LastEndedAt    *time.Time `json:"lastEndedAt,omitempty"`
}

// Watch yields the events of a run of a tenant whose Seq is greater than the parameter after, in
// the order of Seq, each once, and then waits for more. It ends when ctx ends. To resume after a
// disconnection, pass the Seq of the last event that was handled. While the database does not
// answer, Watch tries again for a minute; then it yields an error and ends.
func (c *Client) Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	if err := c.checkRun(tenantID, runID); err != nil {
		return func(yield func(toolspec.RunEvent, error) bool) {
			yield(toolspec.RunEvent{}, fmt.Errorf("client: watch: %w", err))
		}
	}
	return c.runs.Watch(ctx, tenantID, runID, after)
}

// Append writes a part of a model's turn into the events of its run. It may be repeated: it writes only the part
// of the turn that the run does not have yet. The error is ErrRunOpen for the end of a turn in a run with an open
// call, and ErrTextMissing for a text whose beginning was not written. After the end of the turn Append writes
// nothing. turn.Turn calls Append itself if Publish is true.
func (c *Client) Append(ctx context.Context, tenantID, runID string, e TurnEvent) error {
	err := c.checkRun(tenantID, runID)
	switch {
	case err != nil:
	case e.Key == "" || len(e.Key) > MaxTurnKey:
		err = fmt.Errorf("the key of the turn has %d bytes; it must have 1–%d", len(e.Key), MaxTurnKey)
	case len(e.Text) > MaxTurnText:
		err = fmt.Errorf("the text has %d bytes; the maximum is %d", len(e.Text), MaxTurnText)
	case e.Offset < 0:
		err = errors.New("the offset is negative")
	case e.Done == (e.Text != ""):
		err = errors.New("it needs either a text or the end")
	case !e.Done:
		err = toolspec.CheckIdentity(e.OwnerID)
	}
	if err != nil {
		return fmt.Errorf("client: append: %w", err)
	}
	return c.runs.Append(ctx, tenantID, runID, e)
}

// Run returns the summary of a run of a tenant. A run without events is ErrNotFound.
func (c *Client) Run(ctx context.Context, tenantID, runID string) (RunSummary, error) {
	if err := c.checkRun(tenantID, runID); err != nil {
		return RunSummary{}, fmt.Errorf("client: run: %w", err)
	}
	return c.runs.Run(ctx, tenantID, runID)
}

func (c *Client) checkRun(tenantID, runID string) error {
	switch {
	case c.runs == nil:
		return ErrNoRuns
	case tenantID == "":
		return errors.New("it needs a tenant")
	case runID == "" || len(runID) > toolspec.MaxRunID:
		return fmt.Errorf("the id of the run has %d bytes; it must have 1–%d", len(runID), toolspec.MaxRunID)
	}
	return nil
}
