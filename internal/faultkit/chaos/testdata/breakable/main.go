//go:build faults

// Command breakable is a worker of a chaos run with failpoints. With PAWL_CHAOS_FORGET in its
// environment it never writes a claim, and the oracles must find that.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// records are the records of the store, without claims.
type records struct{ activities.Records }

// Claim reports success and writes nothing.
func (records) Claim(context.Context, attempt.ClaimRow) (contract.Outcome, error) {
	return contract.Done, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := worker.LoadConfig()
	if err == nil {
		remote := failpoint.NewRemote(os.Getenv(chaos.PointsEnv))
		connection := &c.Temporal.ConnectionOptions
		connection.DialOptions = append(connection.DialOptions, remote.Dial())
		wrap := worker.Faults(func(r activities.Records) activities.Records {
			if os.Getenv("PAWL_CHAOS_FORGET") != "" {
				r = records{r}
			}
			return remote.Records(r)
		})
		err = chaos.Serve(ctx, c, os.Getenv(chaos.LedgerEnv), remote.Effect, os.Stdin, wrap)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
