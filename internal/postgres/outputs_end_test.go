package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/workflows/contract"
)

// saved stores a value of an open call, and returns its reference. Dispatch 0 means a value of a stage.
func (b bench) saved(call string, dispatch int, claim string) (ref string) {
	b.t.Helper()
	ref, err := b.SaveOutput(b.t.Context(), attempt.OutputRow{InvocationID: id(call), TenantID: tenant, Dispatch: dispatch, ClaimID: claim, Value: []byte(`"large"`)})
	if err != nil {
		b.t.Fatal(err)
	}
	return ref
}

// kept reports whether an output can be read.
func (b bench) kept(ref string) bool {
	b.t.Helper()
	_, err := b.Info(b.t.Context(), tenant, ref)
	if err != nil && !errors.Is(err, output.ErrExpired) {
		b.t.Fatalf("%s: %v", ref, err)
	}
	return err == nil
}

// TestSettleExpiresWhatNothingNames: the result of a call and the value in the cache can refer to outputs. Every other output of the call expires when the
// call settles.
func TestSettleExpiresWhatNothingNames(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]func(in *contract.SettleIn, attempt, stage string) (kept []string){
		"the value of an attempt": func(in *contract.SettleIn, attempt, _ string) []string {
			in.Result.OutputRef, in.Result.Truncated = attempt, true
			return []string{attempt}
		},
		"the value of a stage": func(in *contract.SettleIn, _, stage string) []string {
			in.Result.OutputRef, in.Result.Truncated = stage, true
			return []string{stage}
		},
		"a part of the value": func(in *contract.SettleIn, attempt, stage string) []string {
			in.Result.OutputRef = attempt
			in.Result.Value = fmt.Appendf(nil, `[{"type":"text","text":"\u0000"},{"type":"image","mediaType":"image/png","outputRef":%q}]`, stage)
			return []string{attempt, stage}
		},
		"the value in the cache": func(in *contract.SettleIn, _, stage string) []string {
			in.Kept = &contract.Kept{Entry: hook.CacheEntry{Key: cacheKey, TTLMs: 3_600_000}, Value: json.RawMessage(`[{"outputRef":"` + stage + `"}]`)}
			return []string{stage}
		},
		"no output": func(*contract.SettleIn, string, string) []string { return nil },
		"no output, of a failed call": func(in *contract.SettleIn, _, _ string) []string {
			in.Result = toolspec.Result{InvocationID: id("call_1"), ErrorCode: toolspec.CodeExecution}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.admit("call_1")
			b.admit("call_2")
			b.saved("call_1", 1, "LOST")
			refs := []string{b.saved("call_1", 2, "FOUND"), b.saved("call_1", 0, "STAGE")}
			w := b.NewOutput(streamRow("call_1"))
			if err := w.Write(t.Context(), make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			another := b.saved("call_2", 1, "OTHER")
			in := settleIn("call_1", 1)
			want := append(names(&in, refs[0], refs[1]), another)
			if out := b.settle(in); out.Outcome != contract.Done {
				t.Fatalf("%+v", out)
			}
			if _, err := w.Finish(t.Context(), "text/plain"); err == nil {
				t.Error("a stream of a settled call is finished")
			}
			b.reclaim()
			for _, ref := range want {
				if value, err := b.Output(t.Context(), tenant, ref); string(value) != `"large"` {
					t.Errorf("%s has %q, %v", ref, value, err)
				}
			}
			if left := value[string](b, `SELECT coalesce(string_agg(ref, ' ' ORDER BY dispatch), '') FROM outputs WHERE state <> 'expired'`); len(strings.Fields(left)) != len(want) {
				t.Errorf("outputs that are left: %s, want %q", left, want)
			}
		})
	}
}

// TestSweepExpiresOutputs: the result of a swept call refers to no output, and so all outputs of the call expire.
func TestSweepExpiresOutputs(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	b.admit("call_2")
	ref, another := b.saved("call_1", 1, "A"), b.saved("call_2", 1, "A")
	if code := b.sweep("call_1", 2, upkeep.OwnerStatus("terminated"), toolspec.CodeInternal); code != "" || !b.kept(ref) {
		t.Errorf("a sweep of another epoch ended with %q", code)
	}
	if code := b.sweep("call_1", 1, upkeep.OwnerStatus("terminated"), toolspec.CodeInternal); code == "" || b.kept(ref) || !b.kept(another) {
		t.Errorf("the sweep ended with %q; the outputs of both calls: %t, %t", code, b.kept(ref), b.kept(another))
	}
}

// TestARefusedSettleExpiresNothing: the outputs of a call that goes on stay, although an earlier run of it brings a result.
func TestARefusedSettleExpiresNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.saved("call_1", 1, "A")
	if out := b.settle(settleIn("call_1", 2)); out.Outcome != contract.Superseded || !b.kept(ref) {
		t.Errorf("in another epoch: %+v, kept %t", out, b.kept(ref))
	}
	if out := b.settle(settleIn("call_1", 1)); out.Outcome != contract.Done || b.kept(ref) {
		t.Errorf("in its epoch: %+v, kept %t", out, b.kept(ref))
	}
}

// TestSettleWaitsForAnOutput: a value that is being stored while its call settles expires too.
func TestSettleWaitsForAnOutput(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	b.saved("call_1", 1, "A")
	quota := b.holds(`SELECT FROM output_usage FOR UPDATE`)
	var late string
	stored, settled := make(chan error, 1), make(chan error, 1)
	go func() {
		var err error
		late, err = b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 2, ClaimID: "B", Value: []byte(`1`)})
		stored <- err
	}()
	b.waitForLock()
	go func() {
		_, err := b.Settle(own(t), settleIn("call_1", 1))
		settled <- err
	}()
	until(t, "settle waits or has ended", func() bool {
		return len(settled) > 0 || value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 1
	})
	if err := quota.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-stored, <-settled); err != nil {
		t.Fatal(err)
	}
	if b.kept(late) {
		t.Error("an output that no result names is kept")
	}
}

// TestValuesAtOnce: other writers of a tenant do not wait while a value is being stored, and in the end the quota counts all values.
func TestValuesAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	for _, call := range []string{"call_1", "call_2", "call_3"} {
		b.admit(call)
	}
	b.saved("call_1", 1, "A") // the tenant has a row
	b.sql(`CREATE FUNCTION second_chunk() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'`)
	b.sql(`CREATE TRIGGER second_chunk BEFORE INSERT ON output_chunks FOR EACH ROW WHEN (NEW.first_byte > 0) EXECUTE FUNCTION second_chunk()`)
	half := b.holds(`SELECT pg_advisory_xact_lock(1)`)
	large, small := make(chan error, 1), make(chan error, 1)
	save := func(call, value string, ended chan<- error) {
		_, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id(call), TenantID: tenant, Dispatch: 1, ClaimID: "A", Value: []byte(value)})
		ended <- err
	}
	go save("call_2", `"`+strings.Repeat("x", 1<<20)+`"`, large)
	b.waitForLock()
	go save("call_3", `1`, small)
	until(t, "the small value is stored or waits", func() bool {
		return len(small) > 0 || value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 1
	})
	if len(small) == 0 {
		t.Error("a value waits for another one that arrives")
	}
	if err := errors.Join(half.Commit(t.Context()), <-large, <-small); err != nil {
		t.Fatal(err)
	}
	b.counted()
}

// large stores an output with many more chunks than one statement deletes.
func (b bench) large(call string) (w attempt.OutputWriter, ref string) {
	b.t.Helper()
	w = b.NewOutput(streamRow(call))
	if err := w.Write(b.t.Context(), make([]byte, 1<<20)); err != nil {
		b.t.Fatal(err)
	}
	const more = 500
	b.sql(`INSERT INTO output_chunks SELECT id, bytes + g, lines, 1, 0, false, 'x' FROM outputs, generate_series(1, $1) g`, more)
	b.sql(`UPDATE outputs SET stored = stored + $1 * (1 + 1024)`, more)
	b.sql(`UPDATE output_usage SET stored = stored + $1 * (1 + 1024)`, more)
	return w, value[string](b, `SELECT ref FROM outputs`)
}

// counted fails unless the quota counts exactly the stored bytes, and returns the number of chunks.
func (b bench) counted() (chunks int) {
	b.t.Helper()
	stored := value[int](b, `SELECT coalesce(sum(octet_length(data) + 1024), 0)::bigint FROM output_chunks`)
	if got := value[int](b, `SELECT stored FROM output_usage`); got != stored {
		b.t.Errorf("the quota counts %d bytes of %d", got, stored)
	}
	return value[int](b, `SELECT count(*) FROM output_chunks`)
}

// TestDiscard: a failed attempt waits only for the deletion of one batch of its output, whatever its size. The output cannot be read, and upkeep deletes the
// rest.
func TestDiscard(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	w, ref := b.large("call_1")
	all := b.counted()
	if err := w.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := b.counted(); left != all-200 || b.kept(ref) {
		t.Errorf("%d chunks of %d are left, and the stream is kept: %t", left, all, b.kept(ref))
	}
	if err := w.Write(t.Context(), make([]byte, 2<<20)); err == nil {
		t.Error("a discarded stream goes on")
	}
	b.reclaim()
	if left := b.counted(); left != 0 {
		t.Errorf("%d chunks are left", left)
	}
}

// TestDeleteInBatches: a deletion works in batches, so that no statement locks the usage row of the tenant for long.
func TestDeleteInBatches(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	_, ref := b.large("call_1")
	b.trips.Store(0)
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); err != nil {
		t.Fatal(err)
	}
	if n := b.trips.Load(); n != 6 { // one to expire the output, three batches, a last batch that finds nothing, and one for objects in another bucket
		t.Errorf("%d round trips", n)
	}
	if left := b.counted(); left != 0 || b.kept(ref) {
		t.Errorf("%d chunks are left, and the output is kept: %t", left, b.kept(ref))
	}
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); !errors.Is(err, output.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'output_deleted'`); n != 1 {
		t.Errorf("the audit trail has %d deletions", n)
	}
}

// TestSmallOutputsCount: the quota counts overhead for each output, so that a tenant cannot fill the database with outputs of one byte.
func TestSmallOutputsCount(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.LimitOutputs(postgres.OutputLimits{Quota: 10 << 10})
	b.admit("call_1")
	for i := range 100 {
		_, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: i, Value: []byte(`1`)})
		if errors.Is(err, output.ErrQuota) {
			if i != 9 {
				t.Errorf("10 KiB hold %d outputs", i)
			}
			b.counted()
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("100 outputs are within 10 KiB")
}
