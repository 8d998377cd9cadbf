// Command pawl runs durable, policy-gated tool calls on Temporal and Postgres.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devcli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second Ctrl-C does not wait for a clean end.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, os.Args[1:], app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, devcli.Commands())
	stop()
	os.Exit(code)
}
