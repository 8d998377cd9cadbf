//go:build faults

package devcli

import (
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/worker"
)

// hasFailpoints says that this program can inject faults at chosen points.
const hasFailpoints = true

// failpoints makes a worker ask the server at url, at each failpoint of a call, for the fault to inject: a failure of
// a write, a request or an effect. It changes c, and returns what wraps the effects of the tools, and options of the
// worker. If url is empty, it does nothing.
func failpoints(c *worker.Config, url string) (ledger.Around, []worker.Option, error) {
	if url == "" {
		return nil, nil, nil
	}
	remote := failpoint.NewRemote(url)
	connection := &c.Temporal.ConnectionOptions
	connection.DialOptions = append(connection.DialOptions, remote.Dial())
	return remote.Effect, []worker.Option{worker.Faults(remote.Records)}, nil
}
