package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

// readAhead is how many chunks a scan reads with one statement. A scan holds two times as many.
const readAhead = 4

// Info implements output.Reader. It also finds the values in results (toolspec.ResultRef).
func (s *Store) Info(ctx context.Context, tenantID, ref string) (output.Info, error) {
	found, err := s.find(ctx, tenantID, ref)
	return found.info, notFound(err)
}

// Chunks implements output.Reader. While an output is still written, Chunks ends after the last chunk that is stored when it reads there.
func (s *Store) Chunks(ctx context.Context, tenantID, ref string, from output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		found, err := s.find(ctx, tenantID, ref)
		if err != nil {
			yield(output.Chunk{}, notFound(err))
			return
		}
		if found.value != nil {
			// A value has one line.
			if len(found.value) > 0 && from.Byte < int64(len(found.value)) && from.Line == 0 {
				yield(output.Chunk{Data: found.value}, nil)
			}
			return
		}
		first, here, err := s.locate(ctx, found, from)
		if err != nil {
			yield(output.Chunk{}, err)
			return
		}
		if !here {
			return
		}
		for c, err := range s.chunks(ctx, found, first) {
			if !yield(c, err) {
				return
			}
		}
	}
}

func notFound(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return output.ErrNotFound
	}
	return err
}

// found is a stored output, or a value that is stored in another place, such as the result of a call.
type found struct {
	id   int64
	info output.Info
	// value is nil for a stored output.
	value json.RawMessage
}

type describeRow struct {
	ID                                                           int64
	Ref, TenantID, RunID, InvocationID, ToolID, MediaType, State string
	ActorID, SubjectID                                           string
	Bytes, Lines                                                 int64
	SHA256                                                       string
	CreatedAt, ExpiresAt                                         time.Time
	Expired                                                      bool
}

// find looks an output up. It returns db.ErrNotFound or output.ErrExpired.
func (s *Store) find(ctx context.Context, tenantID, ref string) (found, error) {
	if invocationID, ok := toolspec.SplitResultRef(ref); ok {
		return s.settledValue(ctx, tenantID, ref, invocationID)
	}
	if invocationID, ok := toolspec.SplitAnswerRef(ref); ok {
		return s.agentAnswer(ctx, tenantID, ref, invocationID)
	}
	row, ok, err := db.First[describeRow](ctx, s.db, "describe an output", db.Query("Describe", db.Values{"ref": db.Text(ref), "tenant_id": db.Text(tenantID)}))
	switch {
	case err != nil:
		return found{}, err
	case !ok:
		return s.oldValue(ctx, tenantID, ref)
	case row.Expired:
		return found{}, output.ErrExpired
	}
	return row.found(), nil
}

func (row describeRow) found() found {
	return found{id: row.ID, info: output.Info{
		Ref: row.Ref, TenantID: row.TenantID, RunID: row.RunID, InvocationID: row.InvocationID, ToolID: row.ToolID,
		ActorID: row.ActorID, SubjectID: row.SubjectID, MediaType: row.MediaType,
		Bytes: row.Bytes, Lines: row.Lines, Complete: row.State == "complete", SHA256: row.SHA256, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt,
	}}
}

// EachOutput visits the outputs of all tenants that have not expired, in the order in which they were begun. An error of visit ends it.
// It holds no connection while visit runs.
func (s *Store) EachOutput(ctx context.Context, visit func(info output.Info, chunks iter.Seq2[output.Chunk, error]) error) error {
	const most = 100
	for after := int64(0); ; {
		rows, err := db.All[describeRow](ctx, s.db, "list all outputs", db.Query("EachOutput", db.Values{"after": after, "most": most}))
		if err != nil {
			return err
		}
		for _, row := range rows {
			f := row.found()
			if err := visit(f.info, s.chunks(ctx, f, 0)); err != nil {
				return err
			}
			after = row.ID
		}
		if len(rows) < most {
			return nil
		}
	}
}

type settledValueRow struct {
	RunID, ToolID, ActorID, SubjectID string
	Result                            json.RawMessage
	SettledAt                         time.Time
}

// settledValue returns the value in the result of a settled call.
func (s *Store) settledValue(ctx context.Context, tenantID, ref, invocationID string) (found, error) {
	const op = "output of a result"
	row, ok, err := db.First[settledValueRow](ctx, s.db, op, db.Query("SettledValue", db.Values{"invocation_id": invocationID, "tenant_id": db.Text(tenantID)}))
	if err != nil {
		return found{}, err
	}
	var result toolspec.Result
	if !ok {
		return found{}, db.ErrNotFound
	}
	if err := json.Unmarshal(row.Result, &result); err != nil {
		return found{}, fmt.Errorf("postgres: %s: %w", op, err)
	}
	if len(result.Value) == 0 {
		return found{}, db.ErrNotFound
	}
	return inline(output.Info{
		Ref: ref, TenantID: tenantID, RunID: row.RunID, InvocationID: invocationID, ToolID: row.ToolID, ActorID: row.ActorID, SubjectID: row.SubjectID,
		CreatedAt: row.SettledAt,
	}, result.Value), nil
}

type agentAnswerRow struct {
	Answer, ParentRunID string
	EndedAt             time.Time
}

// agentAnswer returns the final text of the agent that a call has run.
func (s *Store) agentAnswer(ctx context.Context, tenantID, ref, invocationID string) (found, error) {
	const op = "answer of an agent"
	row, ok, err := db.First[agentAnswerRow](ctx, s.db, op, db.Query("AgentAnswer", db.Values{"run_id": agent.ChildRunID(invocationID), "tenant_id": db.Text(tenantID)}))
	if err == nil && !ok {
		err = db.ErrNotFound
	}
	if err != nil {
		return found{}, err
	}
	text, err := json.Marshal(row.Answer)
	if err != nil {
		return found{}, fmt.Errorf("postgres: %s: %w", op, err)
	}
	return inline(output.Info{
		Ref: ref, TenantID: tenantID, RunID: row.ParentRunID, InvocationID: invocationID, ToolID: agent.RunTool, CreatedAt: row.EndedAt,
	}, text), nil
}

type oldValueRow struct {
	Value                       json.RawMessage
	CreatedAt                   time.Time
	InvocationID, RunID, ToolID string
	ActorID, SubjectID          string
}

// oldValue returns a value that an earlier release stored.
func (s *Store) oldValue(ctx context.Context, tenantID, ref string) (found, error) {
	row, ok, err := db.First[oldValueRow](ctx, s.db, "output", db.Query("OldValue", db.Values{"ref": db.Text(ref), "tenant_id": db.Text(tenantID)}))
	if err == nil && !ok {
		err = db.ErrNotFound
	}
	if err != nil {
		return found{}, err
	}
	return inline(output.Info{
		Ref: ref, TenantID: tenantID, RunID: row.RunID, InvocationID: row.InvocationID, ToolID: row.ToolID, ActorID: row.ActorID, SubjectID: row.SubjectID,
		CreatedAt: row.CreatedAt,
	}, row.Value), nil
}

// inline returns a value that is in memory. Such a value is kept as long as its call, so it has no time of expiry.
func inline(info output.Info, value json.RawMessage) found {
	digest := sha256.Sum256(value)
	info.MediaType, info.Bytes, info.Lines, info.Complete, info.SHA256 = jsonType, int64(len(value)), 1, true, hex.EncodeToString(digest[:])
	return found{info: info, value: value}
}

type placeRow struct {
	FirstByte int64
	Here      bool
}

// locate returns where the chunk that has a position begins. here is false if the position is after the end. locate returns an error if the output
// has lost its chunks, for example because it expired.
func (s *Store) locate(ctx context.Context, f found, at output.Position) (firstByte int64, here bool, err error) {
	query, position := "ChunkOfByte", at.Byte
	switch {
	case at.Byte <= 0 && at.Line <= 0:
		return 0, true, nil
	case at.Line > 0:
		query, position = "ChunkOfLine", at.Line
	}
	row, hasChunks, err := db.First[placeRow](ctx, s.db, "find a part of an output", db.Query(query, db.Values{"output_id": f.id, "position": position}))
	if err == nil && !hasChunks {
		err = s.checkEnd(ctx, f, 0)
	}
	return row.FirstByte, row.Here, err
}

type chunkRow struct {
	FirstByte, FirstLine int64
	Bytes                int
	Data                 []byte
	// Object is the key of the object in Bucket that has the data. It is empty if Data has the data.
	Object, Bucket string
	Size           int
	SHA256         []byte
}

// batch has the rows that one statement read, or its error.
type batch struct {
	rows []chunkRow
	err  error
}

// chunks returns the chunks from byte at on, at which a chunk must begin. It reads the next chunks while the caller uses the chunks before
// them, and holds no connection meanwhile. If the caller stops, chunks waits for the running statement, because a cancelled statement would
// cost a connection.
func (s *Store) chunks(ctx context.Context, f found, at int64) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		getting, stop := context.WithCancel(ctx)
		read := func(from int64, limit int) func() batch {
			next := make(chan batch, 1)
			go func() {
				rows, err := db.All[chunkRow](ctx, s.db, "read an output", db.Query("Chunks", db.Values{"output_id": f.id, "first_byte": from, "most": limit}))
				if err == nil {
					rows, err = s.fromBucket(getting, rows)
				}
				next <- batch{rows, err}
			}()
			return sync.OnceValue(func() batch { return <-next })
		}
		next := read(at, 1) // most readers need one chunk
		defer func() { next() }()
		defer stop() // a request to a bucket is cancelled at no cost
		// scan is false for the first chunk only.
		for scan := false; ; scan = true {
			b := next()
			if len(b.rows) == 0 {
				if b.err = s.whyEnded(ctx, f, at, b.err); b.err != nil {
					yield(output.Chunk{}, b.err)
				}
				return
			}
			last := b.rows[len(b.rows)-1]
			end := last.FirstByte + int64(last.Bytes)
			if scan { // read ahead while the caller uses b
				next = read(end, readAhead)
			}
			for _, row := range b.rows {
				data, err := decodeChunk(row, at)
				if err != nil { // a deletion begins with the first chunks
					err = s.whyEnded(ctx, f, at, err)
				}
				if !yield(output.Chunk{FirstByte: row.FirstByte, FirstLine: row.FirstLine, Data: data}, err) || err != nil {
					return
				}
				at += int64(row.Bytes)
			}
			if !scan { // the caller wants more than the first chunk
				next = read(end, readAhead)
			}
		}
	}
}

// whyEnded returns why there are no more chunks: err, unless the output expired while it was read.
func (s *Store) whyEnded(ctx context.Context, f found, at int64, err error) error {
	if err == nil {
		return s.checkEnd(ctx, f, at)
	}
	// A bucket may also say that access is denied to an object that it does not have.
	if _, gone := s.find(ctx, f.info.TenantID, f.info.Ref); errors.Is(gone, output.ErrExpired) || errors.Is(gone, db.ErrNotFound) {
		return notFound(gone)
	}
	return err
}

// checkEnd returns an error if the chunks end at byte at, before the output ends, for example because the output expired while it was read.
func (s *Store) checkEnd(ctx context.Context, f found, at int64) error {
	wasComplete := f.info.Complete
	if wasComplete && at >= f.info.Bytes {
		return nil
	}
	now, err := s.find(ctx, f.info.TenantID, f.info.Ref)
	if err != nil {
		return notFound(err)
	}
	if wasComplete && now.info.Complete && at < now.info.Bytes {
		return errors.New("postgres: a part of the output is missing")
	}
	return nil
}

var errDamaged = errors.New("postgres: a part of the output is damaged")

// decodeChunk decompresses a chunk. It returns an error if the chunk does not begin at byte at, or is damaged.
func decodeChunk(row chunkRow, at int64) ([]byte, error) {
	if row.FirstByte != at {
		return nil, errors.New("postgres: a part of the output is missing")
	}
	data, err := decoder().DecodeAll(row.Data, make([]byte, 0, row.Bytes))
	if err != nil || len(data) != row.Bytes {
		return nil, errDamaged
	}
	return data, nil
}
