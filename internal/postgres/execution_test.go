package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows/contract"
)

// everything returns a digest of all rows of the database except the keys of the workers.
func (b bench) everything() string {
	b.t.Helper()
	var all []string
	if err := b.EachRow(b.t.Context(), func(table string, _ []string, row []byte) error {
		all = append(all, table+" "+string(row))
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestAnotherRunWritesNothing: every statement answers "superseded" to a run that the record does not name, even with the right epoch, and to an activity
// outside of a workflow. The run that the record names succeeds with the same input.
func TestAnotherRunWritesNothing(t *testing.T) {
	b := open(t)
	row := admitRow("call_1")
	row.Invocation.Context.ConnectionID, row.Invocation.Context.SessionID = "c1", "s1"
	b.connection(tenant, "c1")
	b.granted(tenant, "c1", actor, "*")
	b.admitted(row)
	b.request(requestRow("call_1", 1))
	key := provide.SessionKey{TenantID: tenant, SessionID: "s1"}
	// The steps are in the order in which a call can make them.
	steps := []struct {
		name string
		do   func(ctx context.Context) (superseded bool, err error)
	}{
		{"owned", func(ctx context.Context) (bool, error) {
			_, owned, err := b.Owned(ctx, stage.OwnedRow{
				InvocationID: id("call_1"), Epoch: 1, ToolID: "core__write_file", ToolCallID: "call_1", Context: row.Invocation.Context,
			})
			return !owned, err
		}},
		{"request", func(ctx context.Context) (bool, error) {
			other := requestRow("call_1", 1)
			other.View.Digest, other.Last = "other-digest", 1
			r, err := b.Request(ctx, other)
			return r.Superseded, err
		}},
		{"look", func(ctx context.Context) (bool, error) {
			r, err := b.Review(ctx, review{LookRow: approval.LookRow{InvocationID: id("call_1"), TenantID: tenant, Epoch: 1, Gate: 7}})
			return r.Superseded, err
		}},
		{"close", func(ctx context.Context) (bool, error) {
			r, err := b.Review(ctx, review{LookRow: approval.LookRow{InvocationID: id("call_1"), TenantID: tenant, ApprovalID: toolspec.ApprovalID(id("call_1"), 1), Epoch: 1, Close: true}})
			return r.Superseded, err
		}},
		{"decide", func(ctx context.Context) (bool, error) {
			r, err := b.Review(ctx, reviewRow("call_1", 1, 2, decision("call_1", 2, toolspec.Approve)))
			return r.Superseded, err
		}},
		{"tokens", func(ctx context.Context) (bool, error) {
			a, err := b.TakeTokens(ctx, capacity.TokensRow{InvocationID: id("call_1"), TenantID: tenant, Epoch: 1, Round: 1, Buckets: []capacity.Bucket{{Key: "k", Tokens: 5, Every: time.Hour}}})
			return a.State == capacity.Superseded, err
		}},
		{"places", func(ctx context.Context) (bool, error) {
			a, err := b.TakeSlots(ctx, capacity.SlotsRow{InvocationID: id("call_1"), TenantID: tenant, Epoch: 1, Round: 1, Slots: []capacity.Slot{{Key: "k", Most: 5}}})
			return a.State == capacity.Superseded, err
		}},
		{"session", func(ctx context.Context) (bool, error) {
			bound, err := b.BindSession(ctx, providers.SessionRow{InvocationID: id("call_1"), Epoch: 1, Session: key, Recipes: []provide.Recipe{{Token: "t", Factory: "f"}}})
			return len(bound) == 0, err
		}},
		{"lookup", func(ctx context.Context) (bool, error) {
			f, err := b.Lookup(ctx, cache.LookupRow{InvocationID: id("call_1"), TenantID: tenant, Epoch: 1, Round: 1, Key: "k", Lease: time.Minute})
			return f.Superseded, err
		}},
		{"connection", func(ctx context.Context) (bool, error) {
			r, err := b.LeaseConnection(ctx, broker.Request{InvocationID: id("call_1"), TenantID: tenant, ConnectionID: "c1", Holder: actor, Epoch: 1, Round: 1, Lasts: time.Minute})
			return r.Answer == broker.Superseded, err
		}},
		{"claim", func(ctx context.Context) (bool, error) {
			out, err := b.Claim(ctx, claimRow("call_1", 1, 1))
			return out == contract.Superseded, err
		}},
		{"check", func(ctx context.Context) (bool, error) {
			out, err := b.Check(ctx, contract.CheckIn{InvocationID: id("call_1"), Epoch: 1, Dispatch: 1})
			return out.Outcome == contract.Superseded, err
		}},
		{"settle", func(ctx context.Context) (bool, error) {
			in := settleIn("call_1", 1)
			in.Holds = true
			out, err := b.Settle(ctx, in)
			return out.Outcome == contract.Superseded, err
		}},
	}
	for _, s := range steps {
		for _, ctx := range []context.Context{executes(t.Context(), "another-run"), executes(t.Context(), ""), t.Context()} {
			before := b.everything()
			if superseded, err := s.do(ctx); err != nil || !superseded {
				t.Errorf("%s of another run: superseded %v, %v", s.name, superseded, err)
			}
			if s.name == "places" { // the statement creates the semaphore before it checks the run, and so an empty semaphore is there
				b.sql(`DELETE FROM semaphores`)
			}
			if after := b.everything(); after != before {
				t.Errorf("%s of another run wrote:\n%s\nbefore:\n%s", s.name, after, before)
			}
		}
		if superseded, err := s.do(own(t)); err != nil || superseded {
			t.Errorf("%s of the record's own run: superseded %v, %v", s.name, superseded, err)
		}
	}
}

// TestOwned: an activity belongs to a call only if every id of its input is that of the record.
func TestOwned(t *testing.T) {
	b := open(t)
	in := admitRow("call_1")
	in.Invocation.Context.SubjectID, in.Invocation.Context.SessionID, in.Invocation.Context.ConnectionID = "user:sue", "s1", "c1"
	b.admitted(in)
	whole := stage.OwnedRow{InvocationID: id("call_1"), Epoch: 1, ToolID: in.Invocation.ToolID, ToolCallID: "call_1", Context: in.Invocation.Context}
	for name, change := range map[string]func(*stage.OwnedRow){
		"the call":   func(*stage.OwnedRow) {},
		"call":       func(r *stage.OwnedRow) { r.InvocationID = id("call_2") },
		"epoch":      func(r *stage.OwnedRow) { r.Epoch = 2 },
		"tool":       func(r *stage.OwnedRow) { r.ToolID = "core__ls" },
		"toolCallId": func(r *stage.OwnedRow) { r.ToolCallID = "call_2" },
		"tenant":     func(r *stage.OwnedRow) { r.Context.TenantID = "globex" },
		"run":        func(r *stage.OwnedRow) { r.Context.RunID = "run_2" },
		"actor":      func(r *stage.OwnedRow) { r.Context.ActorID = "user:eve" },
		"subject":    func(r *stage.OwnedRow) { r.Context.SubjectID = "" },
		"session":    func(r *stage.OwnedRow) { r.Context.SessionID = "s2" },
		"connection": func(r *stage.OwnedRow) { r.Context.ConnectionID = "c2" },
	} {
		row := whole
		change(&row)
		if _, owned, err := b.Owned(own(t), row); owned != (name == "the call") || err != nil {
			t.Errorf("%s: owned %t, %v", name, owned, err)
		}
	}
	b.settle(settleIn("call_1", 1))
	if _, owned, err := b.Owned(own(t), whole); owned || err != nil {
		t.Errorf("a settled call: owned %t, %v", owned, err)
	}
}

// TestForgedAnswersAreNoted: each different forged answer is one event in the audit trail of its call. A call that is settled or does not exist gets none.
func TestForgedAnswersAreNoted(t *testing.T) {
	b := open(t)
	for _, call := range []string{"call_1", "call_3", "another open call"} {
		b.admit(call)
	}
	b.settle(settleIn("call_3", 1))
	// An event of another kind that has the same member.
	b.sql(`INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
		SELECT month, 'decision', tenant_id, invocation_id, workflow_id, '{"answer":"a"}' FROM invocations WHERE invocation_id = $1`, id("call_1"))
	for _, in := range []struct{ tenant, call, answer string }{
		{"globex", "call_1", "of another tenant"}, {tenant, "call_1", "a"}, {tenant, "call_1", "a"}, {tenant, "call_1", "b"}, {tenant, "call_2", "a"},
		{tenant, "call_3", "a"}, {tenant, "another open call", "a"},
	} {
		if err := b.Forged(t.Context(), answer.Forged{InvocationID: id(in.call), TenantID: in.tenant, Activity: "execute", Answer: in.answer}); err != nil {
			t.Fatal(err)
		}
	}
	want := "another open call execute a, call_1 execute a, call_1 execute b"
	if got := value[string](b, `SELECT string_agg(concat_ws(' ', tool_call_id, detail ->> 'activity', detail ->> 'answer'), ', ' ORDER BY tool_call_id, at)
		FROM events JOIN invocations USING (invocation_id) WHERE kind = 'answer_forged'`); got != want {
		t.Errorf("noted %s", got)
	}
}

// TestWorkerKeys: all workers sign with one key. After a day a new key signs, and older keys still verify until they are deleted.
func TestWorkerKeys(t *testing.T) {
	b := open(t)
	first, second := workerkey.New(b.Store), workerkey.New(postgres.New(b.pool))
	text := []byte("text")
	signed, err := first.Sign(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := second.Verify(t.Context(), text, signed); !ok || err != nil {
		t.Errorf("another worker says %v, %v", ok, err)
	}
	b.sql(`UPDATE worker_keys SET made_at = now() - interval '25 hours'`)
	keys, err := b.WorkerKeys(t.Context())
	if err != nil || len(keys) != 2 || keys[0].ID <= keys[1].ID || keys[0].Age > time.Minute || keys[1].Age < 24*time.Hour {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	again, err := b.WorkerKeys(t.Context())
	if err != nil || len(again) != 2 {
		t.Errorf("%d keys, %v", len(again), err)
	}
	b.sql(`UPDATE worker_keys SET made_at = now() - $1::interval WHERE key_id = $2`, workerkey.Kept, keys[1].ID)
	if left, err := b.WorkerKeys(t.Context()); err != nil || len(left) != 1 || left[0].ID != keys[0].ID {
		t.Errorf("%d keys, %v", len(left), err)
	}
	if n := value[int](b, `SELECT count(*) FROM worker_keys`); n != 1 {
		t.Errorf("%d rows", n)
	}
}
