package openfgacli

import (
	"context"
	_ "embed"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
)

// Version is the pinned version of OpenFGA.
const Version = "v1.22.1"

//go:generate cp ../../devtools/openfga/go.mod gomod.txt
//go:generate cp ../../devtools/openfga/go.sum gosum.txt

//go:embed gomod.txt
var pinnedMod []byte

//go:embed gosum.txt
var pinnedSum []byte

// Find returns the path of the cached server, or builds it once, which takes minutes.
func Find(ctx context.Context, o pinned.Options) (string, error) {
	return pinned.Program{
		Name: "the OpenFGA server", Binary: "openfga", Package: "github.com/openfga/openfga/cmd/openfga", Version: Version,
		Mod: pinnedMod, Sum: pinnedSum, Takes: "about 4 minutes", Otherwise: "leave the tests of the adapter out with -short",
	}.Find(ctx, o)
}
