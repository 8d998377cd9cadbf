package postgres_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outputs"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

// spy is a bucket that runs a function of the test before each put and each delete.
type spy struct {
	outputs.Bucket
	put, delete func(key string) error
}

func (s spy) Put(ctx context.Context, key string, data []byte) error {
	if err := s.put(key); err != nil {
		return err
	}
	return s.Bucket.Put(ctx, key, data)
}

func (s spy) Delete(ctx context.Context, key string) error {
	if err := s.delete(key); err != nil {
		return err
	}
	return s.Bucket.Delete(ctx, key)
}

// openBucket opens a bench with a bucket. The test fails if an object is stored before its row in the database exists, or deleted after the row is gone.
func openBucket(t *testing.T) (bench, *buckettest.Server) {
	t.Helper()
	b, server := open(t), buckettest.New(t)
	state := func(key string) string {
		return value[string](b, `SELECT coalesce((SELECT state FROM output_objects WHERE key = $1::text::uuid), '')`, key)
	}
	b.UseBucket(spy{
		Bucket: server.Open(t),
		put: func(key string) error {
			if got := state(key); got != "reserved" {
				t.Errorf("an object is stored, and its row is %q", got)
			}
			return nil
		},
		delete: func(key string) error {
			if got := state(key); got != "garbage" {
				t.Errorf("an object is deleted, and its row is %q", got)
			}
			return nil
		},
	})
	return b, server
}

// isEmpty fails if outputs have left anything: a chunk, a used byte of the quota, an object, or the row of an object.
func (b bench) isEmpty(server *buckettest.Server) {
	b.t.Helper()
	got := value[string](b, `SELECT concat((SELECT count(*) FROM output_chunks), ' ', (SELECT coalesce(sum(stored), 0) FROM output_usage), ' ', (SELECT count(*) FROM output_objects))`)
	if keys := server.Keys(b.t); got != "0 0 0" || len(keys) > 0 {
		b.t.Errorf("chunks, bytes and rows of objects that are left: %s; objects: %q", got, keys)
	}
}

func save(b bench, call string, dispatch int, text []byte) (string, error) {
	return b.SaveOutput(b.t.Context(), attempt.OutputRow{InvocationID: id(call), TenantID: tenant, Dispatch: dispatch, Value: text})
}

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(data)
	return data
}

// TestOutputsInABucket: readers get streams and values in a bucket as they get those in the database, and both kinds exist side by side.
func TestOutputsInABucket(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	before, err := save(b, "call_1", 9, []byte(`"from before"`))
	if err != nil {
		t.Fatal(err)
	}
	server := buckettest.New(t)
	b.UseBucket(server.Open(t))
	data := lines(40_000)
	ref := b.streamed(streamRow("call_1"), data)
	if all, _ := b.read(ref, output.Position{}); !bytes.Equal(all, data) {
		t.Errorf("%d bytes are read, and are not the %d that were written", len(all), len(data))
	}
	for _, at := range []output.Position{{Line: 20_001}, {Line: 40_000}, {Byte: 1_000_000}} {
		rest, first := b.read(ref, at)
		// The first returned chunk is the one with the position, which is a later chunk of the output.
		if !bytes.HasSuffix(data, rest) || int64(len(data)-len(rest)) != first.FirstByte || first.FirstByte == 0 ||
			at.Byte > 0 && at.Byte-first.FirstByte >= int64(len(first.Data)) || at.Line > 0 && first.FirstLine > at.Line {
			t.Errorf("from %+v: %d bytes from byte %d", at, len(rest), first.FirstByte)
		}
	}
	large := []byte(`{"b":"` + strings.Repeat(`x\u0000`, 300_000) + `"}`)
	valueRef, err := save(b, "call_1", 2, large)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string][]byte{valueRef: large, before: []byte(`"from before"`)} {
		if v, err := b.Output(t.Context(), tenant, ref); err != nil || !bytes.Equal(v, want) {
			t.Errorf("%d bytes, %v", len(v), err)
		}
	}
	keys := server.Keys(t)
	if n := value[int](b, `SELECT count(*) FROM output_chunks WHERE data IS NULL`); n < 8 || n != len(keys) {
		t.Errorf("%d chunks are in the bucket, which has %d objects", n, len(keys))
	}
	for _, key := range keys {
		if contains(key, tenant) || contains(key, id("call_1")) || contains(key, "call") {
			t.Errorf("the key %s says of whom the object is", key)
		}
	}
	if sum, counted := value[int](b, `SELECT (SELECT sum(size) FROM output_objects)::bigint + (SELECT sum(octet_length(data)) FROM output_chunks) + 1024 * (SELECT count(*) FROM output_chunks)`), value[int](b, `SELECT stored FROM output_usage`); sum != counted {
		t.Errorf("%d bytes are stored and %d are counted", sum, counted)
	}

	// The error of a program without the bucket, or with another bucket, says what to do.
	deletable := map[string]string{}
	for dispatch, name := range []string{"no bucket", "another bucket"} {
		if deletable[name], err = save(b, "call_1", 20+dispatch, []byte(`"text"`)); err != nil {
			t.Fatal(err)
		}
	}
	for name, address := range map[string]string{"no bucket": "", "another bucket": "s3://another-bucket"} {
		other, err := postgres.Open(t.Context(), b.url, postgres.Options{MaxConns: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(other.Close)
		if err := other.OpenBucket(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		_, err = other.Output(t.Context(), tenant, valueRef)
		if err == nil || !contains(err.Error(), "s3://pawl-outputs/outputs/") || !contains(err.Error(), "set ") || errs.IsTransient(err) {
			t.Errorf("%s: %v", name, err)
		}
		if v, err := other.Output(t.Context(), tenant, before); err != nil || len(v) == 0 {
			t.Errorf("%s: an output of the database: %v", name, err)
		}
		if err := other.DeleteOutput(t.Context(), tenant, deletable[name], "user:ann"); err == nil || !contains(err.Error(), "s3://pawl-outputs/outputs/") {
			t.Errorf("%s deletes an output: %v", name, err)
		}
	}
}

// TestObjectsAreReclaimed: however an output ends, exactly its objects are deleted.
func TestObjectsAreReclaimed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b bench){
		"expired": func(b bench) {
			b.streamed(streamRow("call_1"), random(2<<20))
			b.sql(`UPDATE outputs SET expires_at = now()`)
		},
		"deleted": func(b bench) {
			if err := b.DeleteOutput(b.t.Context(), tenant, b.streamed(streamRow("call_1"), random(2<<20)), "user:ann"); err != nil {
				b.t.Error(err)
			}
			if n := value[int](b, `SELECT count(*) FROM output_objects`); n != 0 {
				b.t.Errorf("%d objects are left to upkeep", n)
			}
		},
		"discarded": func(b bench) {
			w := b.NewOutput(streamRow("call_1"))
			if err := errors.Join(w.Write(b.t.Context(), random(2<<20)), w.Discard(b.t.Context())); err != nil {
				b.t.Error(err)
			}
		},
		"left by a killed worker": func(b bench) {
			if err := b.NewOutput(streamRow("call_1")).Write(b.t.Context(), random(2<<20)); err != nil {
				b.t.Error(err)
			}
			b.settle(settleIn("call_1", 1))
		},
		"replaced": func(b bench) {
			for range 2 {
				if _, err := save(b, "call_1", 1, []byte(`"`+strings.Repeat("text", 300_000)+`"`)); err != nil {
					b.t.Error(err)
				}
			}
			b.sql(`UPDATE outputs SET expires_at = now()`)
		},
		"deleted with its call": func(b bench) {
			b.streamed(streamRow("call_1"), random(2<<20))
			b.sql(`DELETE FROM outputs`)
			b.sql(`UPDATE output_usage SET stored = 0`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, server := openBucket(t)
			b.admit("call_1")
			end(b)
			if server.Puts() < 2 {
				t.Errorf("%d objects were stored", server.Puts())
			}
			b.reclaim()
			b.isEmpty(server)
		})
	}
}

// TestReservationsExpire: an object whose row is reserved and whose chunk is not written yet is no part of an output. It is deleted when no request that
// stores it can still be running.
func TestReservationsExpire(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	inner := server.Open(t)
	died := errors.New("the worker died")
	b.UseBucket(spy{Bucket: inner, put: func(key string) error {
		return errors.Join(inner.Put(t.Context(), key, []byte("stored")), died)
	}, delete: func(string) error { return nil }})
	if _, err := save(b, "call_1", 1, []byte(`"`+strings.Repeat("text", 50_000)+`"`)); !errors.Is(err, died) {
		t.Error(err)
	}
	if n := value[int](b, `SELECT count(*) FROM outputs`); n != 0 {
		t.Errorf("%d outputs refer to what is not stored", n)
	}
	b.reclaim()
	if len(server.Keys(t)) != 1 {
		t.Error("upkeep deletes the object of a worker that may be alive")
	}
	b.sql(`UPDATE output_objects SET changed_at = now() - interval '11 minutes'`)
	b.reclaim()
	b.isEmpty(server)

	// A writer whose reservation has ended stores no chunk.
	b.UseBucket(spy{Bucket: inner, put: func(string) error {
		b.sql(`UPDATE output_objects SET state = 'garbage'`)
		return nil
	}, delete: func(string) error { return nil }})
	if err := b.NewOutput(streamRow("call_1")).Write(t.Context(), random(1<<20)); err == nil || value[int](b, `SELECT count(*) FROM output_chunks`) != 0 {
		t.Errorf("a chunk has an object that upkeep deletes: %v", err)
	}
	if _, err := save(b, "call_1", 3, []byte(`"`+strings.Repeat("text", 50_000)+`"`)); err == nil || value[int](b, `SELECT count(*) FROM outputs WHERE state = 'complete'`) != 0 {
		t.Errorf("an output has an object that upkeep deletes: %v", err)
	}
}

// TestObjectsOfOthers: a reader gets the written bytes or an error, also if somebody replaces an object of the bucket.
func TestObjectsOfOthers(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	if _, err := save(b, "call_1", 1, []byte(`"`+strings.Repeat("a", 100_000)+`"`)); err != nil {
		t.Fatal(err)
	}
	ref, err := save(b, "call_1", 2, []byte(`"`+strings.Repeat("b", 100_000)+`"`))
	if err != nil {
		t.Fatal(err)
	}
	keys := value[[]string](b, `SELECT array_agg(o.key::text ORDER BY p.dispatch) FROM output_objects o JOIN outputs p ON p.id = o.output_id`)
	at := server.Open(t)
	other, _, err := at.Get(t.Context(), keys[0], 1<<20)
	if err != nil || at.Put(t.Context(), keys[1], other) != nil {
		t.Fatal(err)
	}
	if v, err := b.Output(t.Context(), tenant, ref); err == nil || !contains(err.Error(), "damaged") {
		t.Errorf("an object that was replaced is read: %.20s, %v", v, err)
	}
	if err := at.Delete(t.Context(), keys[1]); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Output(t.Context(), tenant, ref); err == nil || !contains(err.Error(), "not in the bucket") {
		t.Errorf("an object that was deleted is read: %.20s, %v", v, err)
	}
	b.sql(`UPDATE outputs SET expires_at = now()`)
	if _, err := b.Output(t.Context(), tenant, ref); !errors.Is(err, output.ErrExpired) {
		t.Errorf("%v", err)
	}
}

// TestAnOutputInABucketExpiresWhileItIsRead: a reader learns that the output has expired, also if it has read the row of an object that is deleted now.
func TestAnOutputInABucketExpiresWhileItIsRead(t *testing.T) {
	t.Parallel()
	b, _ := openBucket(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), random(8<<20))
	var last error
	var once atomic.Bool
	for _, last = range b.Chunks(t.Context(), tenant, ref, output.Position{}) {
		if once.CompareAndSwap(false, true) {
			b.sql(`UPDATE outputs SET expires_at = now()`)
			b.reclaim()
		}
	}
	if !errors.Is(last, output.ErrExpired) {
		t.Errorf("%v", last)
	}
}

// TestQuotaInABucket: the quota also limits outputs in a bucket, and a tenant whose quota is used up stores no objects.
func TestQuotaInABucket(t *testing.T) {
	t.Parallel()
	b, server := openBucket(t)
	b.admit("call_1")
	b.LimitOutputs(postgres.OutputLimits{Quota: 1 << 20})
	if err := b.NewOutput(streamRow("call_1")).Write(t.Context(), random(4<<20)); !errors.Is(err, output.ErrQuota) {
		t.Errorf("a stream: %v", err)
	}
	stored := server.Puts()
	if used := value[int](b, `SELECT stored FROM output_usage`); used > 1<<20 || used == 0 || stored > 2 {
		t.Errorf("%d bytes in %d objects are stored", used, stored)
	}
	if _, err := save(b, "call_1", 5, []byte(`"`+hex.EncodeToString(random(1<<20))+`"`)); !errors.Is(err, output.ErrQuota) || server.Puts() != stored {
		t.Errorf("a value: %v, and %d objects were stored", err, server.Puts()-stored)
	}
}
