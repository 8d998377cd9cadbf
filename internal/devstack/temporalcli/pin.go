package temporalcli

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"runtime"
)

// Version is the pinned version of the Temporal CLI. It carries server 1.29.1.
const Version = "v1.5.1"

const cliPackage = "github.com/temporalio/cli/cmd/temporal"

//go:generate cp ../../devtools/go.mod gomod.txt
//go:generate cp ../../devtools/go.sum gosum.txt

//go:embed gomod.txt
var pinnedMod []byte

//go:embed gosum.txt
var pinnedSum []byte

// pinName names a build in the cache: another pin, system or processor gets another directory.
func pinName() string {
	sum := sha256.New()
	sum.Write(pinnedMod)
	sum.Write(pinnedSum)
	return Version + "-" + hex.EncodeToString(sum.Sum(nil))[:12] + "-" + runtime.GOOS + "-" + runtime.GOARCH
}
