// Command samples is a worker with three pure tools, one file each: tools that compute, and do no I/O.
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/samples
//
// and, in another terminal, in the same directory:
//
//	pawl invoke core__sum --args '{"a":1,"b":2}'
package main

import (
	"os"

	"github.com/pawl-run/pawl/worker"
)

func main() { os.Exit(worker.Main(worker.Tools(Sum(), GetCurrentWeather(), GenerateTitle()))) }
