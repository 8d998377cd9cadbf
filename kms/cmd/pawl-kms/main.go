// Command pawl-kms is pawl with clients of key management services: the same commands and worker, which open key rings that a key of AWS KMS,
// Google Cloud KMS or HashiCorp Vault has wrapped.
package main

import (
	"os"
	_ "time/tzdata"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/devcli"
	"github.com/pawl-run/pawl/kms"
	"github.com/pawl-run/pawl/worker"
)

func main() { os.Exit(cli.Program(cli.Worker(worker.KeyWrapper(kms.FromEnv())), devcli.Commands())) }
