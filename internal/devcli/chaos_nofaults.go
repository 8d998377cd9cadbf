//go:build !faults

package devcli

import (
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/worker"
)

// hasFailpoints says that this program cannot inject faults at chosen points.
const hasFailpoints = false

// failpoints returns errNoFailpoints for any url but the empty one: see chaos_faults.go.
func failpoints(_ *worker.Config, url string) (ledger.Around, []worker.Option, error) {
	if url != "" {
		return nil, nil, errNoFailpoints
	}
	return nil, nil, nil
}
