package activities

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

// Progress is the capability by which tools report. What they report travels on
// the heartbeats of their attempt.
type Progress struct{}

// progressKey finds the place for reports in the context of an attempt.
type progressKey struct{}

type reported = atomic.Pointer[toolspec.Progress]

// reports are where a tool reports, and what no report may hold.
type reports struct {
	latest  *reported
	secrets *fingerprint.Set
}

// reporting returns a context whose tool can report, and where the latest report
// is found.
func reporting(ctx context.Context, secrets *fingerprint.Set) (context.Context, *reported) {
	latest := new(reported)
	return context.WithValue(ctx, progressKey{}, reports{latest, secrets}), latest
}

// Report keeps the report for the next heartbeat.
func (Progress) Report(ctx context.Context, p toolspec.Progress) {
	to, ok := ctx.Value(progressKey{}).(reports)
	if !ok {
		return
	}
	if toolspec.SecretValue(p.Text) {
		p.Text = ""
	}
	p.Text = to.secrets.Redact(p.Text)
	if len(p.Text) > toolspec.MaxProgressText {
		p.Text = strings.ToValidUTF8(p.Text[:toolspec.MaxProgressText], "")
	}
	to.latest.Store(&p)
}
