package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// flushEvery is the age of held bytes at which the next Write stores them, so that a reader can follow the output.
const flushEvery = 2 * time.Second

// Writer stores an output in chunks. It implements attempt.OutputWriter. It repeats a failed statement for a short time, because the tool
// is running: if its output is lost, the outcome of the call is unknown. The output is not complete before Finish. Only one goroutine may use
// a Writer.
type Writer struct {
	store *Store
	row   attempt.StreamRow
	ref   string
	begun bool
	// held are the bytes that are not stored yet.
	held        []byte
	stored      int64
	lines       int64
	digest      hash.Hash
	lastFlushed time.Time
	endsLine    bool
}

var _ attempt.OutputWriter = (*Writer)(nil)

// NewOutput returns a writer of an output of an open call. It stores nothing before the first Write.
func (s *Store) NewOutput(in attempt.StreamRow) attempt.OutputWriter {
	return &Writer{store: s, row: in, ref: refOf(in.InvocationID, in.Dispatch, in.ClaimID), digest: sha256.New(), lastFlushed: time.Now()}
}

// Write appends p. It blocks while a chunk is stored. The error wraps output.ErrQuota if the tenant has no storage left. After an error
// the output can only be discarded.
func (w *Writer) Write(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		if w.held == nil {
			w.held = make([]byte, 0, chunkSize+1)
		}
		n := min(len(p), chunkSize+1-len(w.held))
		w.held, p = append(w.held, p[:n]...), p[n:]
		if len(w.held) <= chunkSize && time.Since(w.lastFlushed) < flushEvery {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// flush stores one chunk of the held bytes.
func (w *Writer) flush(ctx context.Context) error {
	w.lastFlushed = time.Now()
	if err := w.begin(ctx); err != nil {
		return err
	}
	c := chunk{firstByte: w.stored, firstLine: w.lines, text: w.row.Text, data: w.held[:nextLength(w.held, w.row.Text)]}
	const op = "store a part of an output"
	values := w.store.chunkValues(w.row.TenantID, w.ref, c)
	if err := w.store.toBucket(ctx, w.row.TenantID, values); err != nil {
		return err
	}
	if err := w.change(ctx, op, db.Query("AppendChunk", values)); err != nil {
		return err
	}
	_, _ = w.digest.Write(c.data) // never fails
	w.stored, w.lines, w.endsLine = w.stored+int64(len(c.data)), w.lines+int64(c.lines()), c.endsLine()
	w.held = w.held[:copy(w.held, w.held[len(c.data):])]
	return nil
}

// change runs st, which is AppendChunk or FinishOutput, and repeats it for a short time.
func (w *Writer) change(ctx context.Context, op string, st db.Step) error {
	lock := db.Query("LockOutput", db.Values{"ref": w.ref, "tenant_id": w.row.TenantID})
	return errs.Persist(ctx, func() error {
		row, _, err := db.Batched[doneRow](ctx, w.store.db, op, lock, st)
		if err == nil && !row.Done {
			err = &db.Error{Op: op, State: "the output is not being written any more"}
		}
		return overQuota(op, err)
	})
}

// begin makes the row of the output.
func (w *Writer) begin(ctx context.Context) error {
	if w.begun {
		return nil
	}
	const op = "begin an output"
	err := errs.Persist(ctx, func() error {
		row, found, err := db.Batched[createdRow](ctx, w.store.db, op, w.store.create(w.row, w.ref)...)
		if err == nil && (!found || row.Ref == "") {
			err = &db.Error{Op: op, State: notOpen}
		}
		return markRace(err)
	})
	w.begun = w.begun || err == nil
	return err
}

// Finish stores the rest and makes the output complete. It returns the reference, or "" if nothing was written.
func (w *Writer) Finish(ctx context.Context, mediaType string) (ref string, err error) {
	for len(w.held) > 0 {
		if err := w.flush(ctx); err != nil {
			return "", err
		}
	}
	if !w.begun {
		return "", nil
	}
	finish := finishOf(w.row.TenantID, w.ref, mediaType, w.stored, w.row.Text && !w.endsLine, w.digest.Sum(nil))
	if err := w.change(ctx, "finish an output", finish); err != nil {
		return "", err
	}
	return w.ref, nil
}

// Discard expires the output, and deletes its first chunkBatch chunks. Upkeep deletes the other chunks, or all chunks if
// Discard fails. Discard does nothing if nothing was stored.
func (w *Writer) Discard(ctx context.Context) error {
	w.held = nil
	if !w.begun {
		return nil
	}
	_, err := w.store.db.Exec(ctx, "discard an output", db.Query("Discard", db.Values{"ref": w.ref, "tenant_id": w.row.TenantID}))
	if err == nil {
		_, err = w.store.deleteChunks(ctx, w.ref)
	}
	return err
}

// finishOf returns the statement that makes an output complete. openLine says that its last line has no newline at the end.
func finishOf(tenantID, ref, mediaType string, size int64, openLine bool, digest []byte) db.Step {
	last := 0
	if openLine {
		last = 1
	}
	return db.Query("FinishOutput", db.Values{
		"ref": ref, "tenant_id": tenantID, "media_type": db.Text(mediaType), "bytes": size, "last_line": last,
		"digest": hex.EncodeToString(digest),
	})
}
