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

// reports is the place of the latest report, and the secrets that no report may have.
type reports struct {
	latest  *atomic.Pointer[toolspec.Progress]
	secrets *fingerprint.Set
}

// Reporting returns a context in which a tool can report, and the place of its latest report.
// No report has one of the secrets, which may be nil.
func Reporting(ctx context.Context, secrets *fingerprint.Set) (context.Context, *atomic.Pointer[toolspec.Progress]) {
	latest := new(atomic.Pointer[toolspec.Progress])
	return context.WithValue(ctx, progressKey{}, reports{latest, secrets}), latest
}

// Report stores the report for the next heartbeat.
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
