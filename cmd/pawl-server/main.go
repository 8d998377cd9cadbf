// Command pawl-server is pawl without the commands for development: what runs in
// production, and what the image has as /pawl.
package main

import (
	"os"
	_ "time/tzdata"

	"github.com/pawl-run/pawl/internal/cli"
)

func main() { os.Exit(cli.Program()) }
