package pawltest

import (
	"testing"

	"github.com/pawl-run/pawl/activities/preview"
	"github.com/pawl-run/pawl/toolspec"
)

// Previewed is the preview of a call.
type Previewed struct {
	// View is what approvers see.
	toolspec.PreviewView
	// Digest is the previewDigest. Set Call.PreviewDigest to it for a call that was approved with this
	// preview. If the preview returned a SafeError, Digest is the digest of this error. It is empty after
	// any other error.
	Digest string
	// Log is the log of the worker. It includes the log of the tool.
	Log string
}

// Preview makes the preview of the call as a worker does when the call begins to wait for an approval:
// see toolspec.WithPreview. A tool without a preview, and arguments that the tool refuses, end the test.
func (c Call) Preview(t testing.TB) Previewed {
	t.Helper()
	b := newCallWorker(t, c, nil)
	if !b.bound.Tool().HasPreview() {
		t.Fatalf("pawltest: %s has no preview: add it with toolspec.WithPreview", b.inv.ToolID)
	}
	facts, refused := b.attemptFacts()
	if refused != nil {
		t.Fatalf("pawltest: nobody is asked about a call of %s with these arguments: %s: %s", b.inv.ToolID, refused.Code, refused.SafeMessage)
	}
	view, digest, err := b.previews().Show(b.context(), facts)
	if err != nil {
		t.Fatalf("pawltest: %v", err)
	}
	return Previewed{PreviewView: *view, Digest: digest, Log: b.book.String()}
}

func (b *callWorker) previews() *preview.Previews {
	return &preview.Previews{Tools: b.tools, Policies: noPolicy{}, Providers: b.providers, Secrets: b.live, Log: b.log}
}
