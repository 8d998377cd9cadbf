package outputs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// jsonType is the media type of a value.
const jsonType = "application/json"

// notOpen is the State of an error if the call is settled, or if there is no such call.
const notOpen = "the call is not open"

// createdRow is a row of the statement CreateOutput.
type createdRow struct{ Ref string }

// refOf returns the reference of an output. Other packages must not parse the reference.
func refOf(invocationID string, dispatch int, claimID string) string {
	ref := fmt.Sprintf("%s.out.%d", invocationID, dispatch)
	if claimID != "" {
		ref += "." + claimID
	}
	return ref
}

// create returns the statements that begin an output.
func (s *Store) create(in attempt.StreamRow, ref string) []db.Step {
	return []db.Step{
		db.Query("LockCall", db.Values{"invocation_id": in.InvocationID}),
		db.Query("ReplaceOutput", db.Values{"ref": ref, "tenant_id": in.TenantID}),
		db.Query("CreateOutput", db.Values{
			"ref": ref, "invocation_id": in.InvocationID, "tenant_id": in.TenantID, "dispatch": in.Dispatch,
			"media_type": db.Text(in.MediaType), "quota": s.limits.Quota, "keep_seconds": s.limits.Keep.Seconds(),
		}),
	}
}

// chunkValues returns the parameters of AppendChunk.
func (s *Store) chunkValues(tenantID, ref string, c chunk) db.Values {
	return c.values().With(db.Values{"ref": ref, "tenant_id": tenantID, "quota": s.limits.Quota, "charge": true})
}

// SaveOutput stores a redacted value of an open call in one transaction, and returns its reference. A second value for the same
// invocation, dispatch and claim overwrites the first. The error wraps output.ErrQuota if the tenant has no storage left. If the call is
// settled, SaveOutput changes nothing and returns an error that is not transient.
func (s *Store) SaveOutput(ctx context.Context, in attempt.OutputRow) (ref string, err error) {
	const op = "save output"
	ref = refOf(in.InvocationID, in.Dispatch, in.ClaimID)
	// A hook may return strings that are no UTF-8.
	value := bytes.ToValidUTF8(in.Value, []byte("\uFFFD"))
	steps := s.create(attempt.StreamRow{
		InvocationID: in.InvocationID, TenantID: in.TenantID, Dispatch: in.Dispatch, ClaimID: in.ClaimID, MediaType: jsonType, Text: true,
	}, ref)
	digest := sha256.Sum256(value)
	next := chunk{text: true}
	var chunks []db.Values
	for rest := value; len(rest) > 0; {
		next.data = rest[:nextLength(rest, true)]
		chunks = append(chunks, s.chunkValues(in.TenantID, ref, next))
		rest = rest[len(next.data):]
		next.firstByte, next.firstLine = next.firstByte+int64(len(next.data)), next.firstLine+int64(next.lines())
	}
	if err := s.toBucket(ctx, in.TenantID, chunks...); err != nil {
		return "", err
	}
	for _, values := range chunks {
		steps = append(steps, db.Query("AppendChunk", values.With(db.Values{"charge": false})))
	}
	steps = append(steps, db.Query("ChargeOutput", db.Values{"ref": ref, "tenant_id": in.TenantID, "quota": s.limits.Quota}))
	steps = append(steps, finishOf(in.TenantID, ref, jsonType, int64(len(value)), !bytes.HasSuffix(value, []byte{'\n'}), digest[:]))
	row, _, err := db.Batched[doneRow](ctx, s.db, op, steps...)
	if err == nil && !row.Done {
		err = &db.Error{Op: op, State: notOpen}
	}
	if err != nil {
		return "", markRace(overQuota(op, err))
	}
	return ref, nil
}

// errStream is the error of Output for an output that is a stream.
var errStream = errors.New("postgres: the output is a stream and no JSON value: read it by its chunks")

// Output returns the value of a reference from SaveOutput, or the value in the result of a settled call (toolspec.ResultRef). It returns
// db.ErrNotFound if there is no such value, and output.ErrExpired if its time is over. It returns an error for a stream.
func (s *Store) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	found, err := s.find(ctx, tenantID, ref)
	if err != nil {
		return nil, err
	}
	switch {
	case found.value != nil:
		return found.value, nil
	case !found.info.Complete:
		return nil, db.ErrNotFound
	case found.info.MediaType != jsonType || found.info.Bytes > toolspec.MaxResult:
		return nil, errStream
	}
	value := make([]byte, 0, found.info.Bytes)
	for c, err := range s.chunks(ctx, found, 0) {
		if err != nil {
			return nil, err
		}
		value = append(value, c.Data...)
	}
	if !json.Valid(value) { // a stream may say that it is JSON
		return nil, errStream
	}
	return value, nil
}
