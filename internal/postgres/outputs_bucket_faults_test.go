package postgres_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

// TestBucketIsAway: while the bucket does not answer, writers and readers get a transient error. Upkeep continues later.
func TestBucketIsAway(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), random(2<<20))
	server.Refuse("")
	row := streamRow("call_1")
	row.Dispatch = 2
	w := b.NewOutput(row)
	if err := w.Write(t.Context(), random(1<<20)); !errs.IsTransient(err) {
		t.Errorf("a stream: %v", err)
	}
	if err := w.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	for _, err := range b.Chunks(t.Context(), tenant, ref, output.Position{}) {
		if !errs.IsTransient(err) {
			t.Errorf("a reader: %v", err)
		}
	}
	b.sql(`UPDATE outputs SET expires_at = now()`)
	server.Serve()
	server.Refuse(http.MethodDelete)
	if err := b.untilError(); !errs.IsTransient(err) {
		t.Errorf("upkeep: %v", err)
	}
	if rows, keys := value[int](b, `SELECT count(*) FROM output_objects WHERE state = 'garbage'`), server.Keys(t); rows < len(keys) || len(keys) == 0 {
		t.Errorf("%d rows name the %d objects that are left", rows, len(keys))
	}
	server.Serve()
	b.sql(`UPDATE output_objects SET changed_at = now() - interval '11 minutes'`)
	b.reclaim()
	b.isEmpty(server)
}

// untilError runs the upkeep of outputs until it fails.
func (b bench) untilError() error {
	b.t.Helper()
	for {
		n, err := b.DeleteExpiredOutputs(b.t.Context(), 100)
		if err != nil {
			return err
		}
		objects, err := b.DeleteOutputObjects(b.t.Context())
		if err != nil || n+objects == 0 {
			return err
		}
	}
}

// TestCheckBucket: the check that `pawl doctor` makes leaves no object, and fails if the bucket fails.
func TestCheckBucket(t *testing.T) {
	t.Parallel()
	b, server := open(t), buckettest.New(t)
	b.UseBucket(server.Open(t))
	if err := b.CheckBucket(t.Context()); err != nil || server.Puts() != 1 {
		t.Errorf("%v after %d objects", err, server.Puts())
	}
	b.isEmpty(server)
	server.Refuse(http.MethodDelete)
	if err := b.CheckBucket(t.Context()); !errs.IsTransient(err) {
		t.Errorf("a bucket that deletes nothing: %v", err)
	}
}

// TestBucketIsOnlyRead: with write=false new outputs go to the database, and outputs in the bucket can still be read and deleted.
func TestBucketIsOnlyRead(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	value := []byte(`"` + strings.Repeat("a", 100_000) + `"`)
	before, err := save(b, "call_1", 1, value)
	if err != nil {
		t.Fatal(err)
	}
	puts := server.Puts()
	b.UseBucket(server.OpenToRead(t))
	after, err := save(b, "call_1", 2, value)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{before, after} {
		if got, err := b.Output(t.Context(), tenant, ref); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s: %d bytes, %v", ref, len(got), err)
		}
	}
	if err := b.CheckBucket(t.Context()); err != nil || server.Puts() != puts {
		t.Errorf("%d more objects were put, %v", server.Puts()-puts, err)
	}
	b.sql(`UPDATE outputs SET expires_at = now()`)
	b.reclaim()
	b.isEmpty(server)
}

// TestBucketRefusesDeletes: a person can repeat a deletion that failed, and operators see since when objects wait for their deletion.
func TestBucketRefusesDeletes(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	ref, err := save(b, "call_1", 1, []byte(`"`+strings.Repeat("a", 100_000)+`"`))
	if err != nil {
		t.Fatal(err)
	}
	server.Refuse(http.MethodDelete)
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); err == nil {
		t.Error("what the bucket refuses is deleted")
	}
	b.sql(`UPDATE output_objects SET changed_at = now() - interval '2 hours'`)
	if _, err := b.DeleteOutputObjects(t.Context()); !errs.IsTransient(err) {
		t.Errorf("upkeep: %v", err)
	}
	if used, err := b.OutputBuckets(t.Context()); err != nil || len(used) != 1 || used[0].GarbageSince == nil || time.Since(*used[0].GarbageSince) < time.Hour {
		t.Errorf("%+v, %v", used, err)
	}
	server.Serve()
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); err != nil {
		t.Errorf("again: %v", err)
	}
	b.isEmpty(server)
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); !errors.Is(err, output.ErrNotFound) {
		t.Errorf("of what is gone: %v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'output_deleted'`); n != 1 {
		t.Errorf("%d deletions are in the audit trail", n)
	}
}
