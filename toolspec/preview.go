package toolspec

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"
)

// Bounds of previews.
const (
	// PreviewTimeout bounds one run of a preview.
	PreviewTimeout = 3 * time.Second
	// MaxPreview bounds the text of a preview that people see, in bytes as JSON: the history of the call
	// has it once for each request.
	MaxPreview = 64 << 10
)

// Preview says what a call would do if it ran now.
type Preview struct {
	// Text is for the people who decide, such as a unified diff. They see its beginning, up to MaxPreview.
	// The approval is bound to all of it.
	Text string
	// State names what the preview was made of, such as the digest of a file. Run gets it back, and can
	// refuse with ErrStale to change anything else. People do not see it.
	State string
	// Done says that the effect of the call has happened already, or may have happened, for example by an
	// attempt whose answer was lost. Run gets it by Previewed, and then changes nothing. It returns the value
	// that this attempt would have returned, or an error that says that it cannot know.
	Done bool
}

// ErrStale is the error, or is wrapped by the error, of a tool that finds something else than its
// preview did. The tool has changed nothing. The call ends with approval_stale.
var ErrStale = errors.New("what the preview showed has changed since")

// WithPreview returns the tool with a preview. Pawl runs the preview when a call begins to wait for an
// approval, and shows its text to the approvers. Before each attempt of the approved call Pawl runs it
// again: if the text is another one and the preview is not Done, the call ends with approval_stale and
// the tool does not run. A call that needs no approval runs no preview.
//
// The preview must change nothing. It gets the arguments and the capabilities of the call, but no
// connection, and at most PreviewTimeout. If it returns an error, approvers see the text of a
// SafeError, or that there is no preview. They can still approve the call. In is the type of the
// arguments of the tool. A tool with the effect read_only has no preview.
func WithPreview[In any](t Tool, preview func(ctx context.Context, in In, call Call) (Preview, error)) Tool {
	t.previewIn = reflect.TypeFor[In]()
	t.preview = func(ctx context.Context, args json.RawMessage, call Call) (Preview, error) {
		in, err := decodeArgs[In](args)
		if err != nil {
			return Preview{}, err
		}
		return preview(ctx, in, call)
	}
	return t
}

// HasPreview reports whether the tool has a preview.
func (t Tool) HasPreview() bool { return t.preview != nil }

// Preview runs the preview. Only package activities/preview may call it.
func (t Tool) Preview(ctx context.Context, args json.RawMessage, call Call) (Preview, error) {
	return t.preview(ctx, args, call)
}

// CheckPreview reports why the preview does not fit the tool.
func (t Tool) CheckPreview() error {
	switch {
	case t.preview == nil:
		return nil
	case t.def.Effect == ReadOnly:
		return errors.New("a preview does not go with the effect read_only: the call itself shows what there is")
	case t.in != nil && t.in != t.previewIn:
		return errors.New("the preview takes arguments of another type than the function")
	}
	return nil
}

// Previewed returns the preview that Pawl has made right before this attempt. ok is false if nobody
// has approved a preview of the call.
func (c Call) Previewed() (p Preview, ok bool) {
	if c.preview == nil {
		return Preview{}, false
	}
	return *c.preview, true
}

// WithPreviewed returns the call with the preview of an attempt.
func (c Call) WithPreviewed(p *Preview) Call {
	c.preview = p
	return c
}

// PreviewView is the preview of a call as approvers see it.
type PreviewView struct {
	// Text says what the call would do, such as a unified diff. Values that the tool or policy masks are
	// ***, and secrets of connections are removed. Sanitize it before you show it in a terminal or a page.
	Text string `json:"text,omitempty"`
	// Truncated says that text is only the beginning.
	Truncated bool `json:"truncated,omitempty"`
	// Bytes is the length of the whole text in bytes.
	Bytes int64 `json:"bytes,omitempty"`
	// Missing says why there is no text.
	Missing string `json:"missing,omitempty"`
}
