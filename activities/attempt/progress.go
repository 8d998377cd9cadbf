package attempt

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// progressEvery is the shortest time between two progress events of a call.
	progressEvery = 100 * time.Millisecond
	// unwatchedEvery is the shortest time between two reports that find no watcher.
	unwatchedEvery = 2 * time.Second
	// progressTime bounds the write of a progress event.
	progressTime = 2 * time.Second
)

// reportProgress writes the reports of a running tool for the watchers of its run, until ended is
// closed. It writes the latest report only, and does not try again after an error: no result depends
// on a report.
func (a *Attempts) reportProgress(ctx context.Context, in contract.ExecuteIn, latest *atomic.Pointer[toolspec.Progress], reported, ended <-chan struct{}) {
	// If ctx ended during a write, the pool would lose its database connection.
	ctx = context.WithoutCancel(ctx)
	for {
		select {
		case <-ended:
			return
		case <-reported:
		}
		writing, cancel := context.WithTimeout(ctx, progressTime)
		watched, err := a.Store.ReportProgress(writing, ProgressRow{
			TenantID: in.Facts.Context.TenantID, RunID: in.Facts.Context.RunID, InvocationID: in.Facts.InvocationID, Epoch: in.Epoch, Progress: *latest.Load(),
		})
		cancel()
		pause := progressEvery
		if err != nil || !watched {
			pause = unwatchedEvery
		}
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
	}
}
