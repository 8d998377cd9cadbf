package takeovers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// These are places in the life of a call at which a test can hold it. Other places have the name of a stage.
const (
	inQueue   = "queue"    // no worker has got the call yet
	inAdmit   = "admit"    // in the statement of admit
	inWait    = "waiting"  // the call waits for a person
	approved  = "approved" // a person has decided, and the gate has not judged the call again yet
	inClaim   = "claim"    // in the statement of the claim
	inTool    = "tool"
	inRetry   = "retrying" // between two attempts
	inSettle  = "settle"   // in the statement of settle
	inClosing = "closing"  // the call is settled, and the result of the task that closes the workflow is being sent
)

// holdFunction makes a statement wait for a lock that depends on the step and the call, and that the test holds.
const holdFunction = `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	PERFORM pg_advisory_xact_lock_shared(hashtextextended(TG_ARGV[0] || ' ' || NEW.invocation_id, 0)); RETURN NEW; END $$`

// places holds calls, each at one place of its life. Held code ignores the end of its context. So code that its worker has given up goes on when it is
// released.
type places struct {
	w       *e2etest.World
	locks   *pgx.Conn
	effects e2etest.Ledger
	mu      sync.Mutex
	held    map[string]*held // by toolCallId
}

// held is one call that is held. reached is closed when the call is at its place, and the call goes on when released is closed.
type held struct {
	p                 *places
	inv               toolspec.Invocation
	place             string
	reached, released chan struct{}
	reach, free       sync.Once
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	// A call that is held in a stage uses one of the slots of the worker, whose number depends on the number of connections.
	w.Connections = 50
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	// The sweeper settles calls too, but in its own epoch, so its statements are not held. The tombstone of an attempt that never began is not held either.
	for _, sql := range []string{
		holdFunction,
		`CREATE TRIGGER hold_admit BEFORE INSERT ON invocations FOR EACH ROW EXECUTE FUNCTION hold('admit')`,
		`CREATE TRIGGER hold_claim BEFORE INSERT ON claims FOR EACH ROW WHEN (NEW.kind = 'claim') EXECUTE FUNCTION hold('claim')`,
		`CREATE TRIGGER hold_settle BEFORE UPDATE ON invocations FOR EACH ROW
			WHEN (NEW.state = 'settled' AND NEW.epoch = OLD.epoch) EXECUTE FUNCTION hold('settle')`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	return &places{w: w, locks: conn, held: map[string]*held{}}
}

// work starts the worker whose calls are held.
func (p *places) work() (stop func()) {
	// A tool that is held must have time until all other calls are at their places.
	stays := e2etest.Within(2 * time.Minute)
	tools := worker.Tools(
		e2etest.Tool("test__read", p.run, e2etest.Fast, e2etest.Longest, e2etest.Attempts(9)),
		e2etest.Tool("test__write", p.run, e2etest.Idempotent, e2etest.Attempts(3), stays),
		e2etest.Tool("test__send", p.run, e2etest.Once, e2etest.Attempts(3), stays),
		e2etest.Tool("test__asked", p.run, e2etest.Once, e2etest.Risky, stays),
	)
	return p.w.WorkWith(p.w.Intercepted(p.intercept), tools, worker.Hooks(hook.New("held",
		e2etest.On(hook.WillAuthorize, p.stage), e2etest.On(hook.WillCheckConsent, p.stage), e2etest.On(hook.WillNormalizeInput, p.stage),
		e2etest.On(hook.WillReadCache, p.stage),
		e2etest.On(hook.OnRetry, p.stage), e2etest.On(hook.WillExecute, p.stage), e2etest.On(hook.DidExecute, p.stage),
		e2etest.On(hook.WillTransformOutput, p.stage),
		e2etest.On(hook.OnError, p.stage), e2etest.On(hook.WillAudit, p.stage), e2etest.On(hook.WillFinalizeInvoke, p.stage))))
}

// hold prepares to hold a call at a place. The call must be started after that.
func (p *places) hold(inv toolspec.Invocation, place string) *held {
	p.w.T.Helper()
	h := &held{p: p, inv: inv, place: place, reached: make(chan struct{}), released: make(chan struct{})}
	p.mu.Lock()
	p.held[inv.ToolCallID] = h
	p.mu.Unlock()
	// This runs before the worker stops, however the test ends.
	p.w.T.Cleanup(func() { h.free.Do(func() { close(h.released) }) })
	if h.inDatabase() {
		h.lock("pg_advisory_lock")
	}
	return h
}

// pass waits if a call is to be held at this place.
func (p *places) pass(toolCallID, place string) {
	p.mu.Lock()
	h := p.held[toolCallID]
	p.mu.Unlock()
	if h != nil && h.place == place {
		h.reach.Do(func() { close(h.reached) })
		<-h.released
	}
}

// stage is the hook function of every stage that is a place.
func (p *places) stage(s hook.Stage, view any) error {
	v := view.(interface {
		ToolCallID() string
		Round() int
	})
	if s == hook.WillAuthorize.Stage() && v.Round() > 1 {
		p.pass(v.ToolCallID(), approved)
		return nil
	}
	p.pass(v.ToolCallID(), string(s))
	return nil
}

// run is the function of every tool. For a call that is held between two attempts, the first attempt asks for a second one.
func (p *places) run(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
	n := p.effects.Add(call)
	p.pass(call.ToolCallID, inTool)
	switch place := p.of(call.ToolCallID); {
	case place == inRetry && n == 1:
		return e2etest.Out{}, toolspec.RetryAfter(2*time.Minute, "not now")
	case place == string(hook.OnRetry.Stage()) && n == 1:
		return e2etest.Out{}, toolspec.RetryAfter(time.Second, "not now")
	case place == string(hook.OnError.Stage()):
		return e2etest.Out{}, errors.New("never")
	}
	return e2etest.Echo(ctx, in, call)
}

func (p *places) of(toolCallID string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[toolCallID].place
}

// intercept is an interceptor of the connection of the worker to Temporal.
func (p *places) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		for _, command := range task.GetCommands() {
			var result toolspec.Result
			if converter.GetDefaultDataConverter().FromPayloads(command.GetCompleteWorkflowExecutionCommandAttributes().GetResult(),
				&result) == nil {
				p.pass(result.ToolCallID, inClosing)
			}
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

func (h *held) inDatabase() bool {
	return h.place == inAdmit || h.place == inClaim || h.place == inSettle
}

// lock takes or releases the lock for which the statement of a step waits.
func (h *held) lock(function string) {
	h.p.w.T.Helper()
	if _, err := h.p.locks.Exec(context.WithoutCancel(h.p.w.T.Context()),
		`SELECT `+function+`(hashtextextended($1, 0))`, h.place+" "+h.inv.Identity().InvocationID()); err != nil {
		h.p.w.T.Fatal(err)
	}
}

// there waits until the call is held at its place.
func (h *held) there() {
	w := h.p.w
	w.T.Helper()
	workflowID := h.inv.Identity().WorkflowID()
	switch {
	case h.place == inQueue:
	case h.place == inWait:
		w.Waiting(workflowID)
	case h.place == inRetry:
		w.Retrying(workflowID)
	case h.inDatabase():
		w.Until(h.inStatement, h.inv.ToolCallID+" waits in its statement")
	default:
		if h.place == approved || h.place == inTool && h.inv.ToolID == "test__asked" {
			approveHeld(w, workflowID)
		}
		select {
		case <-h.reached:
		case <-time.After(e2etest.WaitTimeout):
			w.T.Fatalf("never: %s is reached", h.inv.ToolCallID)
		}
	}
}

// inStatement reports whether the statement of the call waits for the lock.
func (h *held) inStatement() bool { return h.lockRows("AND NOT granted") }

// inTransaction reports whether a transaction of the call waits for the lock or has it. A transaction keeps the lock until its end.
func (h *held) inTransaction() bool { return h.lockRows("") }

func (h *held) lockRows(and string) bool {
	return e2etest.Scalar[bool](h.p.w, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' `+and+`
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0))`, h.place+" "+h.inv.Identity().InvocationID())
}

// approveHeld approves a call by a signal and does not wait for an answer. The answer to an update would come only after the task in which the call is held.
func approveHeld(w *e2etest.World, workflowID string) {
	w.T.Helper()
	d := e2etest.Approving(w.Waiting(workflowID).ApprovalID, e2etest.Ann)
	if err := w.Temporal.SignalWorkflow(w.T.Context(), workflowID, "", toolspec.DecideName, d); err != nil {
		w.T.Fatal(err)
	}
}

// release lets the call go on, and also code of the call that its worker has given up.
func (h *held) release() {
	h.p.w.T.Helper()
	h.free.Do(func() {
		close(h.released)
		if h.inDatabase() {
			h.lock("pg_advisory_unlock")
		}
	})
}
