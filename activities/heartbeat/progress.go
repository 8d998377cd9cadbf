package heartbeat

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

// Progress is the capability by which tools report progress. Their attempt sends the reports
// with its heartbeats.
type Progress struct{}

// progressKey is the key of the reports in the context of an attempt.
type progressKey struct{}

// reports holds the latest report, the channel that wakes its reader, and the secrets that no report may have.
type reports struct {
	latest   *atomic.Pointer[toolspec.Progress]
	reported chan struct{}
	secrets  *fingerprint.Set
}

// Reporting returns a context in which a tool can report, a pointer to its latest report, and a channel that
// has a value after a report. Report removes the secrets from each report; secrets may be nil.
func Reporting(ctx context.Context, secrets *fingerprint.Set) (_ context.Context, latest *atomic.Pointer[toolspec.Progress], reported <-chan struct{}) {
	r := reports{new(atomic.Pointer[toolspec.Progress]), make(chan struct{}, 1), secrets}
	return context.WithValue(ctx, progressKey{}, r), r.latest, r.reported
}

// Report stores the report for the next heartbeat and for the watchers of the run.
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
	select {
	case to.reported <- struct{}{}:
	default: // The reader has not handled the last wake-up, and will find this report.
	}
}
