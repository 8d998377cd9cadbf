//go:build faults

// Command forgetful is a worker of a chaos run that never writes a claim: a run
// with it must be found out.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// records are those of the store, but for the claim.
type records struct{ activities.Records }

// Claim says that all is well and remembers nothing.
func (records) Claim(context.Context, activities.ClaimRow) (workflows.Outcome, error) {
	return workflows.Done, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := worker.LoadConfig()
	if err == nil {
		forget := worker.Faults(func(r activities.Records) activities.Records { return records{r} })
		err = chaos.Serve(ctx, c, os.Getenv(chaos.LedgerEnv), os.Stdin, forget)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
