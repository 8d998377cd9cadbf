package postgres_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const tenant = "acme"

// bench is a store on a new migrated database, with a second pool by which a test reads and changes the rows of the store.
type bench struct {
	*postgres.Store
	t    testing.TB
	url  string
	pool *pgxpool.Pool
	// works is the pool of the store.
	works *pgxpool.Pool
	// trips counts the round trips of the store since a test has set it to 0.
	trips *atomic.Int64
}

func open(t testing.TB) bench {
	t.Helper()
	b := openAt(t, postgrestest.Database(t))
	worker := b.config(t, 12)
	worker.ConnConfig.RuntimeParams["role"] = "pawl_worker"
	pool, err := pgxpool.NewWithConfig(t.Context(), worker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b.Store, b.works = postgres.New(pool), pool
	return b
}

// openAsOwner opens a bench whose store connects as the owner of the tables. The store of open connects as the role pawl_worker.
func openAsOwner(t testing.TB) bench {
	t.Helper()
	return openAt(t, postgrestest.Database(t))
}

// empty opens a bench on a database without the schema.
func empty(t testing.TB) bench {
	t.Helper()
	return openAt(t, devstacktest.Postgres(t))
}

func openAt(t testing.TB, url string) bench {
	t.Helper()
	b := bench{t: t, url: url + "&connect_timeout=60", trips: new(atomic.Int64)}
	var err error
	if b.pool, err = pgxpool.NewWithConfig(t.Context(), b.config(t, 12)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	b.Store = postgres.New(b.pool)
	return b
}

func (b bench) config(t testing.TB, limit int32) *pgxpool.Config {
	t.Helper()
	config, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = limit
	config.ConnConfig.Tracer = tripCounter{b.trips}
	// Without this, pgx pings a connection that was idle for a second, and the ping would count as a round trip.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return config
}

// tripCounter counts statements and batches. Each is one round trip after its statements are prepared.
type tripCounter struct{ n *atomic.Int64 }

func (c tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// value runs a query through the pool of the test, and returns its single value.
func value[T any](b bench, sql string, args ...any) T {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), sql, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (b bench) sql(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func id(call string) string {
	return toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: call}.InvocationID()
}

func admitRow(call string) admit.Row {
	identity := toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: call}
	return admit.Row{
		Namespace:    namespace,
		InvocationID: identity.InvocationID(), InputDigest: "digest-1", WorkflowID: identity.WorkflowID(), RunID: ownRun,
		Invocation: toolspec.Invocation{
			ToolID: "core__write_file", ToolCallID: call, Args: []byte(`{"secret":"raw"}`),
			Context: toolspec.Context{TenantID: tenant, RunID: "run_1", ActorID: "user:ann"},
		},
		Plan:      hook.Plan{V: 1, ToolID: "core__write_file", Lane: hook.RegularLane, MaxAttempts: 1, Pre: []hook.Step{}},
		StartedAt: time.UnixMilli(1_700_000_000_123),
	}
}

func (b bench) admit(call string) admit.Record {
	b.t.Helper()
	return b.admitted(admitRow(call))
}

func (b bench) admitted(row admit.Row) admit.Record {
	b.t.Helper()
	record, err := b.Admit(b.t.Context(), row)
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

func (b bench) claim(row attempt.ClaimRow) contract.Outcome {
	b.t.Helper()
	out, err := b.Claim(own(b.t), row)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b bench) check(call string, epoch, dispatch int) contract.CheckOut {
	b.t.Helper()
	out, err := b.Check(own(b.t), contract.CheckIn{InvocationID: id(call), Epoch: epoch, Dispatch: dispatch})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func settleIn(call string, epoch int) contract.SettleIn {
	return contract.SettleIn{
		InvocationID: id(call), TenantID: tenant, Epoch: epoch, PolicyDigest: "policy-at-the-end",
		Result: toolspec.Result{
			ToolCallID: call, InvocationID: id(call), InputDigest: "digest-1", OK: true, Value: []byte(`{"z":1.10,"a":"x\u0000y"}`),
			Source: toolspec.SourceExecuted, Attempts: 1, StartedAtMs: 1, EndedAtMs: 2,
		},
		SafeArgs:      []byte(`{"path":"a.txt"}`),
		InputHistory:  []json.RawMessage{[]byte(`{"path":"***"}`), nil, []byte(`{"path":"a.txt"}`)},
		OutputHistory: []json.RawMessage{[]byte(`{"z":1.10,"a":"x\u0000y"}`)},
		Stages: []contract.StageEvent{
			{Stage: "pawl.admit", Outcome: "ok", AtMs: 1_700_000_000_001, DurationUs: 120},
			{Stage: "willAudit", Round: 1, Outcome: "ok", By: "audit", AtMs: 1_700_000_000_002, DurationUs: 7, Notes: []hook.Note{{Hook: "h", Reason: "r"}}},
		},
		Attempts:   []contract.AttemptEvent{{Attempt: 1, Dispatch: 1, Lane: hook.RegularLane, Outcome: "ok", AtMs: 1_700_000_000_002, DurationUs: 99}},
		Audit:      []hook.AuditEntry{{Kind: "note", Detail: []byte(`{"n":1}`)}, {Kind: "bare"}},
		Hydrations: []contract.Hydration{hydration(1, toolspec.HydrationSuccess)},
		Claims:     claimsOf(1),
	}
}

func hydration(seq int, outcome toolspec.HydrationOutcome) contract.Hydration {
	return contract.Hydration{Seq: seq, AtMs: 1_700_000_000_001, Provenance: toolspec.Provenance{
		Outcome: outcome, ToolID: "core__write_file", ToolDigest: "tool", ProviderToolID: "write_file", OriginalDigest: "digest", OriginalBytes: 14,
		Validator: &toolspec.ValidatorInfo{Name: "pawl", Version: "1", CompiledAt: toolspec.CompiledAtStartup}, DurationUs: 12,
	}}
}

func (b bench) settle(in contract.SettleIn) contract.SettleOut {
	b.t.Helper()
	out, err := b.Settle(own(b.t), in)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// detail returns everything that the record has about a call.
func (b bench) detail(call string) *reads.Detail {
	b.t.Helper()
	d, err := b.Show(b.t.Context(), tenant, call)
	if err != nil {
		b.t.Fatal(err)
	}
	return &d
}

func requestRow(call string, epoch int) approval.RequestRow {
	rule := policy.ApprovalRule{Enabled: true, ExpiresAfterMs: 3_600_000, AllowUnsigned: true}
	return approval.RequestRow{
		InvocationID: id(call), TenantID: tenant, Epoch: epoch,
		View: toolspec.ApprovalView{
			ToolID: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Args: []byte(`{"path":"a.txt"}`),
			Digest: "approval-digest", Message: "why", RequestedBy: "user:ann", Approvers: "anyone but user:ann",
		},
		Granted: hook.GrantedApproval{
			Digest: "approval-digest", ToolDigest: "tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, RuleDigest: rule.Digest(),
		},
		Rule: rule, PolicyRule: "rules[0]", ExpireAfter: time.Hour,
	}
}

func (b bench) request(row approval.RequestRow) approval.RequestRecord {
	b.t.Helper()
	record, err := b.Request(own(b.t), row)
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

// decision returns a decision of user:bob on request number n of a call.
func decision(call string, n int, verb toolspec.Verb) *toolspec.Decision {
	return &toolspec.Decision{ApprovalID: toolspec.ApprovalID(id(call), n), Decision: verb, Approver: "user:bob", Reason: "because"}
}

// final returns the judgement with an answer that ends the request.
func final(a toolspec.Answer) (approval.Judgement, error) {
	return approval.Judgement{Answer: a, Final: true}, nil
}

// review has the row with which a test looks at a request, and the function that judges the decision of the row, if there is one.
type review struct {
	approval.LookRow
	Judge func(approval.OpenRequest) (approval.Judgement, error)
}

func reviewRow(call string, epoch, n int, d *toolspec.Decision) review {
	return review{
		LookRow: approval.LookRow{
			InvocationID: id(call), TenantID: tenant, ApprovalID: toolspec.ApprovalID(id(call), n), Epoch: epoch, Decision: d,
		},
		Judge: func(r approval.OpenRequest) (approval.Judgement, error) {
			if d.Decision == toolspec.Approve {
				ruling := r.Rule.Approve(policy.Voter{Identity: d.Approver}, r.Votes, r.RequestedBy)
				return approval.Judgement{Answer: toolspec.Answer{Counted: ruling.Counted, Reason: ruling.Reason}, Entry: ruling.Entry, Final: ruling.Final}, nil
			}
			ok, reason := r.Rule.MayDecide(policy.Voter{Identity: d.Approver}, r.RequestedBy)
			return final(toolspec.Answer{Counted: ok, Reason: reason})
		},
	}
}

// Review looks at a request and decides on it as the activity does.
func (b bench) Review(ctx context.Context, row review) (approval.ReviewRecord, error) {
	return approval.ReviewWith(ctx, b.Store, row.LookRow, row.Judge)
}

func (b bench) review(row review) approval.ReviewRecord {
	b.t.Helper()
	record, err := b.Review(own(b.t), row)
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

// together runs f n times at the same moment, and waits for all of them.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	all.Wait()
}
