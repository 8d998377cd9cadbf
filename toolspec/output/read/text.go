package read

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// The errors of this package. Their texts are safe to show.
var (
	// ErrNotText says that lines of an output were asked for that has none, such as an image.
	ErrNotText = errors.New("the output is not text: read it by bytes")
	// ErrPastEnd says that the position is behind the end of the output.
	ErrPastEnd = errors.New("the offset is past the end of the output")
	// ErrNotJSON says that a JSON pointer was given for an output that is no JSON value.
	ErrNotJSON = errors.New("the output is not a JSON value, so it has no JSON pointers: read it by lines or bytes")
	// ErrBadPointer says that a JSON pointer is not of the form of RFC 6901.
	ErrBadPointer = errors.New("the JSON pointer is not valid: it is empty or begins with /, and in names ~ is written ~0 and / is written ~1")
	// ErrNoValue says that a JSON pointer leads to nothing.
	ErrNoValue = errors.New("the JSON pointer leads to no value of the output")
	// ErrTooDeep says that a JSON value has more levels than it is indented by: each level makes every line in it longer.
	ErrTooDeep = fmt.Errorf("the JSON value has more than %d levels: read the output by bytes", strictjson.MaxDepth)
	// ErrTooLong says that a name, number or text within a JSON value is larger than MaxToken.
	ErrTooLong = fmt.Errorf("a text in the JSON value is larger than %d MiB: read the output by bytes", MaxToken>>20)
)

const (
	// MaxToken bounds a text within a JSON value that is read by a pointer, in bytes.
	MaxToken = 16 << 20
	// maxIndented bounds a JSON value that is shown indented without a pointer, in bytes. Every page of it is formed from its
	// beginning.
	maxIndented = 16 << 20
)

// jsonType is the media type of a value.
const jsonType = "application/json"

// chunks returns the chunks of a text beginning with the chunk that has the position from.
type chunks func(from output.Position) iter.Seq2[output.Chunk, error]

// Text is an output, or a value in it, as lines.
type Text struct {
	// Info describes the whole output.
	Info output.Info
	// Formed says that the lines are formed from a JSON value: a JSON string is its text, and every other value is indented. So
	// the lines differ from the lines of the stored bytes.
	Formed bool
	chunks chunks
}

// Open finds an output of the tenant and returns it as lines. With a pointer (RFC 6901) it returns the value there. Without one, a
// JSON value that is stored as one line is formed too, unless it is larger than 16 MiB.
//
// The error is output.ErrNotFound, output.ErrExpired, ErrNotText, ErrNotJSON, ErrBadPointer, ErrNoValue, ErrTooLong or an error of r.
// Reading the lines may return ErrTooDeep.
func Open(ctx context.Context, r output.Reader, tenantID, ref, pointer string) (Text, error) {
	info, err := r.Info(ctx, tenantID, ref)
	if err != nil {
		return Text{}, err
	}
	raw := func(from output.Position) iter.Seq2[output.Chunk, error] { return r.Chunks(ctx, tenantID, ref, from) }
	isJSON := info.MediaType == jsonType
	switch {
	case pointer != "" && !isJSON:
		return Text{}, ErrNotJSON
	case pointer != "" || isJSON && info.Complete && info.Lines <= 1 && 0 < info.Bytes && info.Bytes <= maxIndented:
		formed, err := form(raw, pointer)
		return Text{Info: info, Formed: true, chunks: formed}, err
	case !isText(info):
		return Text{}, ErrNotText
	}
	return Text{Info: info, chunks: raw}, nil
}

// isText reports whether an output has lines. A text that is being written may have no end of a line yet. A complete output without
// lines is a binary stream, whatever media type its tool has set.
func isText(i output.Info) bool {
	return i.Bytes == 0 || i.Lines > 0 || !i.Complete && strings.HasPrefix(i.MediaType, "text/")
}

// indexed reports whether the reader finds lines without reading what is before them, and how many there are is known.
func (t Text) indexed() bool { return !t.Formed && t.Info.Complete && t.Info.Lines > 0 }
