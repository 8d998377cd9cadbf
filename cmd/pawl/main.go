// Command pawl runs durable, policy-gated tool calls on Temporal and Postgres.
package main

import (
	"os"
	_ "time/tzdata"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/devcli"
)

func main() { os.Exit(cli.Program(devcli.Commands())) }
