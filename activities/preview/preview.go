package preview

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// The reasons for which approvers see no preview. The texts are safe to show.
const (
	notHere       = "the worker that asked does not have the tool"
	notMade       = "the preview failed; the worker log has the cause"
	maskedArgs    = "arguments of the call are masked, and the preview could show them"
	hasCredential = "the preview has something of the shape of a credential"
)

var (
	errTimeout = errs.Transient(fmt.Errorf("the preview took longer than %s", toolspec.PreviewTimeout))
	errBusy    = errs.Transient(errors.New("the worker makes other previews"))
)

const (
	// Bounds of the previews that a worker makes at the same time, in all and for one tenant. A preview that
	// does not stop in time counts until it stops.
	atOnce    = 4
	ofATenant = 2
	// maxWait bounds the wait for room. The time of the preview, toolspec.PreviewTimeout, begins after the wait.
	maxWait = toolspec.PreviewTimeout / 3
)

// Previews makes the previews of calls. All fields except Secrets are required.
type Previews struct {
	Tools     judge.Source
	Policies  judge.Policies
	Providers providers.Providers
	// Secrets are the live secrets, which no preview may show. nil means that there are none.
	Secrets *fingerprint.Set
	Log     *slog.Logger

	room room.Room
}

// Show returns the view of a call's preview for approvers, and the digest of the preview, with which Again compares
// the preview of each attempt. Both are empty if the tool has no preview. If the preview fails, the view says why,
// and the digest is empty unless the failure is a toolspec.SafeError. An error is transient: the worker makes as
// many previews as it may at a time.
func (p *Previews) Show(ctx context.Context, f hook.Facts) (view *toolspec.PreviewView, digest string, err error) {
	bound, ok := p.Tools.Find(f.ToolID, f.ToolDigest)
	switch {
	case !ok || bound.Digest() != f.ToolDigest:
		return &toolspec.PreviewView{Missing: notHere}, "", nil
	case !bound.Tool().HasPreview():
		return nil, "", nil
	}
	ctx, lacks := p.Providers.Provide(ctx, f)
	if lacks != "" {
		return &toolspec.PreviewView{Missing: notHere}, "", nil
	}
	masked, failure, err := judge.Masked(ctx, p.Policies, f.PolicyDigest, f.Context.TenantID, bound)
	if err != nil || failure != nil { // a text may not leave without its masks
		return &toolspec.PreviewView{Missing: notMade}, "", nil //nolint:nilerr // the approver sees that there is none
	}
	caps, err := providers.Capabilities(ctx, bound)
	if err != nil {
		p.Log.WarnContext(ctx, "a preview is not provided with what it needs", "toolId", f.ToolID, "invocationId", f.InvocationID, "reason", errs.Reason(err))
		return &toolspec.PreviewView{Missing: notMade}, "", nil
	}
	made, err := p.make(ctx, f, bound, caps, f.Epoch)
	switch {
	case errors.Is(err, errBusy):
		return nil, "", err
	case err != nil:
		return p.addText(masked, f, toolspec.PreviewView{Missing: reason(err)}, ""), digestOfError(err), nil
	}
	return p.addText(masked, f, toolspec.PreviewView{Bytes: int64(len(made.Text))}, made.Text), Digest(made), nil
}

// Digest returns the previewDigest.
func Digest(p toolspec.Preview) string {
	sum := sha256.Sum256([]byte(p.Text))
	return hex.EncodeToString(sum[:])
}

// digestOfError returns the previewDigest of a preview that failed with a toolspec.SafeError: approvers have
// seen the text of this error. It is empty for all other errors.
func digestOfError(err error) string {
	var safe *toolspec.SafeError
	if !errors.As(err, &safe) {
		return ""
	}
	return Digest(toolspec.Preview{Text: "error: " + safe.Error()})
}

// Again makes the preview of an attempt and compares it with the approved preview. It returns the new preview for
// the tool, or an empty preview if people approved an error of the preview. If the two previews differ, the error
// wraps toolspec.ErrStale, unless the new preview says that the effect has happened already (Done). Other errors
// say nothing about the comparison. caps are the capabilities of the attempt, without a connection.
func (p *Previews) Again(ctx context.Context, f hook.Facts, bound *catalog.Bound, caps toolspec.Capabilities, epoch int) (*toolspec.Preview, error) {
	if !bound.Tool().HasPreview() {
		return nil, fmt.Errorf("%w: the tool has no preview any more", toolspec.ErrStale)
	}
	made, err := p.make(ctx, f, bound, caps, epoch)
	digest := Digest(made)
	if err != nil {
		if digest = digestOfError(err); digest == "" {
			return nil, err
		}
		made = toolspec.Preview{}
	}
	switch {
	case digest == f.Approval.PreviewDigest:
		// The call still has to do what people approved, whatever an earlier attempt did.
		made.Done = false
	case !made.Done:
		return nil, fmt.Errorf("%w: the call would do something else than the preview showed", toolspec.ErrStale)
	}
	return &made, nil
}

// make waits at most maxWait for room, and then runs the preview of a tool for at most toolspec.PreviewTimeout. The error is
// errBusy if there is no room, errTimeout if the preview takes longer, or the error of the preview. A preview that does not
// stop in time keeps its room until it stops. It does no harm, because a preview changes nothing.
func (p *Previews) make(ctx context.Context, f hook.Facts, bound *catalog.Bound, caps toolspec.Capabilities, epoch int) (toolspec.Preview, error) {
	f.Attempt = max(f.Attempt, 1) // people are asked before the first attempt
	call := providers.CallOf(f, epoch, caps, p.Log)
	wait, stop := context.WithTimeout(ctx, maxWait)
	leave, err := p.room.Enter(wait, room.Bound{Most: atOnce}, room.Bound{Key: "tenant " + f.Context.TenantID, Most: ofATenant})
	stop()
	if err != nil {
		return toolspec.Preview{}, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, toolspec.PreviewTimeout)
	defer cancel()
	type outcome struct {
		made toolspec.Preview
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer leave()
		var o outcome
		defer func() {
			if recovered := recover(); recovered != nil { // its value may be a secret
				call.Logger.ErrorContext(ctx, "a preview panicked", "panicType", fmt.Sprintf("%T", recovered), "at", errs.Frames(debug.Stack()))
				o.err = errors.New("the preview panicked")
			}
			done <- o
		}()
		o.made, o.err = bound.Tool().Preview(ctx, f.Args, call)
	}()
	select {
	case o := <-done:
		if o.err != nil && ctx.Err() == nil {
			call.Logger.WarnContext(ctx, "a preview failed", "errorType", fmt.Sprintf("%T", o.err))
		}
		if o.err != nil && errors.Is(o.err, context.DeadlineExceeded) {
			o.err = errTimeout
		}
		return o.made, o.err
	case <-ctx.Done():
		call.Logger.WarnContext(ctx, "a preview did not answer in time")
		return toolspec.Preview{}, errTimeout
	}
}

// reason returns why there is no preview, for approvers.
func reason(err error) string {
	var safe *toolspec.SafeError
	switch {
	case errors.As(err, &safe):
		return safe.Error()
	case errors.Is(err, errTimeout):
		return fmt.Sprintf("the preview took longer than %s", toolspec.PreviewTimeout)
	}
	return notMade
}

// margin is how many bytes after the shown part of a text are searched too: a credential or a text to
// mask may begin in the shown part and end after it.
const margin = 16 << 10

// addText adds to the view the part of the text that approvers may see, and cleans the reason in view.Missing.
func (p *Previews) addText(masked *catalog.Bound, f hook.Facts, view toolspec.PreviewView, text string) *toolspec.PreviewView {
	if !sameJSON(f.Args, f.SafeArgs) {
		return &toolspec.PreviewView{Missing: maskedArgs}
	}
	whole := len(text) <= toolspec.MaxPreview+margin
	text, view.Truncated = text[:min(len(text), toolspec.MaxPreview+margin)], len(text) > toolspec.MaxPreview
	for _, part := range []*string{&text, &view.Missing} {
		clean, err := p.clean(masked, *part)
		switch {
		case err != nil:
			return &toolspec.PreviewView{Missing: notMade}
		case toolspec.SecretValue(clean):
			return &toolspec.PreviewView{Missing: hasCredential}
		}
		*part = clean
	}
	// A diff mixes an old and a new text, with a mark in front of each line. The lines of a secret in one text can have lines of
	// the other text between them. So search without the marks, and in each of the two texts alone.
	for _, skipped := range []string{"", "+", "-"} {
		if len(p.Secrets.Find([]byte(withoutMarks(text, skipped)))) > 0 {
			return &toolspec.PreviewView{Missing: hasCredential}
		}
	}
	if !whole { // a secret may be cut at the end, where no search finds it
		text = text[:max(0, len(text)-p.Secrets.Reach())]
	}
	if shown := fit(text); len(shown) < len(text) {
		text, view.Truncated = shown, true
	}
	view.Text = text
	return &view
}

// fit returns the beginning of a text that has at most toolspec.MaxPreview bytes in JSON, because the history
// of the call has the text as JSON. It cuts at the end of a line. If the first line is too long, it cuts within
// this line.
func fit(text string) string {
	left, lineStart := toolspec.MaxPreview, 0
	for at, r := range text {
		if left -= jsonSize(r); left < 0 {
			return text[:cmp.Or(lineStart, at)]
		}
		if r == '\n' {
			lineStart = at + 1
		}
	}
	return text
}

// jsonSize returns the length of a character in JSON.
func jsonSize(r rune) int {
	if ' ' <= r && r <= '~' && !strings.ContainsRune(`"\<>&`, r) {
		return 1
	}
	encoded, err := json.Marshal(string(r))
	if err != nil { // never
		return len(`\u0000`)
	}
	return len(encoded) - len(`""`)
}

// withoutMarks returns the lines of a unified diff without their first character. It leaves out the lines
// that begin with the mark skipped, which is "+" or "-"; if skipped is empty, it leaves out no line.
func withoutMarks(text, skipped string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if skipped == "" || !strings.HasPrefix(line, skipped) {
			b.WriteString(line[1:])
		}
	}
	return b.String()
}

// clean masks a text and removes live secrets from it. It removes secrets before the mask, because a mask may
// remove a part of a secret, so that no later search finds the rest. It removes secrets again after the mask.
func (p *Previews) clean(masked *catalog.Bound, text string) (string, error) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	text, err := masked.RedactText(p.Secrets.Redact(text))
	return p.Secrets.Redact(text), err
}

// sameJSON reports whether two documents are equal. If args and safe are equal, no argument is masked.
func sameJSON(args, safe []byte) bool {
	a, err := strictjson.Digest(args)
	if err != nil {
		return false
	}
	b, err := strictjson.Digest(safe)
	return err == nil && a == b
}
