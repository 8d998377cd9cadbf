package postgres_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pawl-run/pawl/toolspec/output"
)

func TestOutputExpires(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), lines(30_000))
	b.sql(`UPDATE outputs SET expires_at = now()`)
	for range 2 { // before and after upkeep
		if _, err := b.Info(t.Context(), tenant, ref); !errors.Is(err, output.ErrExpired) {
			t.Errorf("described: %v", err)
		}
		if _, err := b.Output(t.Context(), tenant, ref); !errors.Is(err, output.ErrExpired) {
			t.Errorf("read: %v", err)
		}
		b.reclaim()
	}
	if n := value[int](b, `SELECT count(*) FROM output_chunks`); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
	b.sql(`UPDATE outputs SET touched_at = now() - interval '31 days'`)
	b.reclaim()
	if _, err := b.Info(t.Context(), tenant, ref); !errors.Is(err, output.ErrNotFound) {
		t.Errorf("after 30 days: %v", err)
	}
}

// TestOutputExpiresWhileItIsRead: a reader gets an error when the rest of the output expires.
func TestOutputExpiresWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), bytes.Repeat([]byte("0123456789abcdef"), 500_000))
	var last error
	n := 0
	for _, last = range b.Chunks(t.Context(), tenant, ref, output.Position{}) {
		if n++; n == 1 {
			b.sql(`UPDATE outputs SET expires_at = now()`)
			b.reclaim()
		}
	}
	if !errors.Is(last, output.ErrExpired) {
		t.Errorf("the reader got %d chunks and then %v", n, last)
	}
}

// TestOutputIsDeletedWhileItIsRead: while the first chunks of an output are deleted and the last ones are left, a reader gets output.ErrExpired, and no error
// that says that the output is damaged.
func TestOutputIsDeletedWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), []byte("a line\n"))
	const more = 300 // one statement deletes 200 chunks
	b.sql(`INSERT INTO output_chunks SELECT output_id, g * bytes, g * lines, bytes, lines, ends_line, data FROM output_chunks, generate_series(1, $1) g`, more)
	b.sql(`UPDATE outputs SET bytes = bytes * (1 + $1), stored = stored * (1 + $1)`, more)
	b.sql(`UPDATE output_usage SET stored = stored * (1 + $1)`, more)
	var last error
	n := 0
	for _, last = range b.Chunks(t.Context(), tenant, ref, output.Position{}) {
		if n++; n == 1 {
			b.sql(`UPDATE outputs SET expires_at = now()`)
			if _, err := b.DeleteExpiredOutputs(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := b.counted(); left != more+1-200 {
		t.Errorf("%d chunks are left", left)
	}
	if !errors.Is(last, output.ErrExpired) {
		t.Errorf("the reader got %d chunks and then %v", n, last)
	}
}

func TestOutputIsDeleted(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), lines(30_000))
	if err := b.DeleteOutput(t.Context(), tenant, ref, "user:ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Info(t.Context(), tenant, ref); !errors.Is(err, output.ErrExpired) {
		t.Errorf("%v", err)
	}
	if got := value[string](b, `SELECT detail->>'by' FROM events WHERE kind = 'output_deleted'`); got != "user:ann" {
		t.Errorf("the audit trail says that %q deleted it", got)
	}
	if left := b.counted(); left != 0 {
		t.Errorf("%d chunks are left", left)
	}
}

// TestOutputWithoutItsChunks: a read that begins after the first chunk gets an error, and not an end, if the chunks are gone.
func TestOutputWithoutItsChunks(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	ref := b.streamed(streamRow("call_1"), lines(100))
	first := func(from output.Position) (err error) {
		for _, err = range b.Chunks(t.Context(), tenant, ref, from) {
			break
		}
		return err
	}
	positions := []output.Position{{Byte: 7}, {Line: 7}}
	for _, from := range positions {
		if err := first(from); err != nil {
			t.Errorf("from %+v: %v", from, err)
		}
	}
	b.sql(`DELETE FROM output_chunks`)
	for _, from := range positions {
		if err := first(from); err == nil {
			t.Errorf("from %+v, the output ended without an error", from)
		}
	}
}
