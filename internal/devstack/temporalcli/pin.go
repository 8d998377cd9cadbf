package temporalcli

import (
	_ "embed"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
)

// Version is the pinned version of the Temporal CLI. It contains server 1.29.1.
const Version = "v1.5.1"

//go:generate cp ../../devtools/go.mod gomod.txt
//go:generate cp ../../devtools/go.sum gosum.txt

//go:embed gomod.txt
var pinnedMod []byte

//go:embed gosum.txt
var pinnedSum []byte

func program() pinned.Program {
	return pinned.Program{
		Name: "the Temporal CLI", Binary: "temporal", Package: "github.com/temporalio/cli/cmd/temporal", Version: Version,
		Mod: pinnedMod, Sum: pinnedSum, Takes: "about 3 minutes",
		Otherwise: "install `temporal` (on macOS `brew install temporal`, elsewhere see Temporal's documentation)",
	}
}
