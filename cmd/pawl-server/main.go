// Command pawl-server is pawl without the commands for development. It runs in production,
// and is /pawl in the image.
package main

import (
	"os"
	_ "time/tzdata"

	"github.com/pawl-run/pawl/internal/cli"
)

func main() { os.Exit(cli.Program()) }
