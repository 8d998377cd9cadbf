package operations

import (
	"fmt"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
)

// lateTries is the number of sweeps that have tried to run a closing hook without success after which the check fails.
const lateTries = 3

// endings checks that the closing hooks run for the calls that the sweeper has settled. It adds no line if all of them
// have run.
func (d *diagnosis) endings(b reads.EndingBacklog, err error) {
	if err == nil && b.Calls == 0 {
		return
	}
	fine := ""
	if b.Since != nil {
		fine = fmt.Sprintf("%d swept calls have closing hooks to run, the oldest was settled at %s", b.Calls, app.FormatTime(*b.Since))
	}
	if err == nil && b.Tries >= lateTries {
		err = fmt.Errorf("%s; sweeps have tried %d times: start a worker that has these hooks, or read in its log why they fail", fine, b.Tries)
	}
	d.add("endings", err, fine)
}
