package output

import (
	"context"
	"errors"
	"iter"
	"time"
)

// The errors of a Reader. Their texts are safe to show.
var (
	// ErrNotFound says that the tenant has no output of that reference. It is also the error for an
	// output of another tenant, and for an output that the reader may not see.
	ErrNotFound = errors.New("there is no such output")
	// ErrExpired says that the output was deleted when its time was over.
	ErrExpired = errors.New("the output has expired")
	// ErrQuota says that the outputs of the tenant use all the storage that it has.
	ErrQuota = errors.New("the tenant has no storage left for outputs")
)

// Info describes a stored output.
type Info struct {
	Ref          string `json:"ref"`
	TenantID     string `json:"tenantId"`
	RunID        string `json:"runId"`
	InvocationID string `json:"invocationId"`
	ToolID       string `json:"toolId"`
	// ActorID and SubjectID are the actor and the subject of the call. ActorID is empty for the answer
	// of an agent.
	ActorID   string `json:"actorId,omitempty"`
	SubjectID string `json:"subjectId,omitempty"`
	// MediaType is "application/json" for a value, and otherwise the media type of the stream, such as
	// "text/plain; charset=utf-8" or "image/png".
	MediaType string `json:"mediaType"`
	// Bytes and Lines are the size. A last line without a newline counts as a line. Lines is 0 for an
	// output that is not text.
	Bytes int64 `json:"bytes"`
	Lines int64 `json:"lines,omitempty"`
	// Complete is false while the tool writes the output.
	Complete bool `json:"complete"`
	// SHA256 is the digest of the bytes, hexadecimal; empty while Complete is false.
	SHA256    string    `json:"sha256,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Chunk is a part of an output. The chunks of an output follow each other without a gap.
type Chunk struct {
	// FirstByte is the offset of Data in the output.
	FirstByte int64
	// FirstLine is the number of newlines before Data.
	FirstLine int64
	Data      []byte
}

// Position is a place in an output. At most one field is not 0.
type Position struct {
	// Byte is an offset in bytes.
	Byte int64
	// Line is the number of newlines before the position.
	Line int64
}

// Reader reads stored outputs. An implementation holds only some chunks in memory, whatever the size
// of an output is.
type Reader interface {
	// Info describes an output of the tenant.
	Info(ctx context.Context, tenantID, ref string) (Info, error)
	// Chunks returns the chunks of an output in their order, from the chunk that has the position. A
	// position after the end gives no chunk.
	Chunks(ctx context.Context, tenantID, ref string, from Position) iter.Seq2[Chunk, error]
}
