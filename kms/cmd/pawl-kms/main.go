// Command pawl-kms is pawl with clients of key management services: the same commands and worker, which open key rings that a key of AWS KMS,
// Google Cloud KMS or HashiCorp Vault has wrapped.
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
	"github.com/pawl-run/pawl/kms"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second Ctrl-C does not wait for a clean end.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, os.Args[1:], app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cli.KeyWrapper(kms.FromEnv()), devcli.Commands())
	stop()
	os.Exit(code)
}
