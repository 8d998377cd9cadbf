package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
)

// notices checks that the notices of approval requests are delivered in time.
func (d *diagnosis) notices(ctx context.Context, store *postgres.Store) {
	backlogs, err := store.NoticeBacklogs(ctx)
	var names, faults []string
	for _, b := range backlogs {
		names = append(names, b.Notifier)
		if b.GivenUp > 0 {
			faults = append(faults, fmt.Sprintf("%s: %d notices were given up within a day (%s)", b.Notifier, b.GivenUp, b.LastError))
		}
		if b.Late > 0 {
			faults = append(faults, fmt.Sprintf("%s: %d notices are late, the oldest of %s (%s)", b.Notifier, b.Late, app.FormatTime(*b.Since), b.LastError))
		}
	}
	fine := "on time, by " + strings.Join(names, ", ")
	switch {
	case len(faults) > 0:
		err = errors.New(strings.Join(faults, "; ") + ": check that the receiver runs and accepts notices")
	case len(backlogs) == 0:
		fine = "no notifier had a notice to send in the last week"
	}
	d.add("notices", err, fine)
}
