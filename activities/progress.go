package activities

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/pawl-run/pawl/toolspec"
)

// Progress is the capability by which tools report. What they report travels on
// the heartbeats of their attempt.
type Progress struct{}

// progressKey finds the place for reports in the context of an attempt.
type progressKey struct{}

type reported = atomic.Pointer[toolspec.Progress]

// reporting returns a context whose tool can report, and where the latest report
// is found.
func reporting(ctx context.Context) (context.Context, *reported) {
	latest := new(reported)
	return context.WithValue(ctx, progressKey{}, latest), latest
}

// Report keeps the report for the next heartbeat.
func (Progress) Report(ctx context.Context, p toolspec.Progress) {
	latest, ok := ctx.Value(progressKey{}).(*reported)
	if !ok {
		return
	}
	if toolspec.SecretValue(p.Text) {
		p.Text = ""
	}
	if len(p.Text) > toolspec.MaxProgressText {
		p.Text = strings.ToValidUTF8(p.Text[:toolspec.MaxProgressText], "")
	}
	latest.Store(&p)
}
