package temporalserver

import (
	"context"
	_ "embed"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
)

// Version is the pinned version of the server.
const Version = "v1.32.1"

//go:generate cp ../../devtools/temporalserver/go.mod gomod.txt
//go:generate cp ../../devtools/temporalserver/go.sum gosum.txt

//go:embed gomod.txt
var pinnedMod []byte

//go:embed gosum.txt
var pinnedSum []byte

// Programs are the absolute paths of the programs.
type Programs struct {
	Server string
	// SQL makes the tables of a database.
	SQL string
}

// Find returns the cached programs, or builds them once, which takes minutes.
func Find(ctx context.Context, o pinned.Options) (Programs, error) {
	server, err := program("the Temporal server", "temporal-server", "go.temporal.io/server/cmd/server", "about 10 minutes").Find(ctx, o)
	if err != nil {
		return Programs{}, err
	}
	sql, err := program("the schema tool of Temporal", "temporal-sql-tool", "go.temporal.io/server/cmd/tools/sql", "a minute").Find(ctx, o)
	return Programs{Server: server, SQL: sql}, err
}

func program(name, binary, main, takes string) pinned.Program {
	return pinned.Program{
		Name: name, Binary: binary, Package: main, Version: Version, Mod: pinnedMod, Sum: pinnedSum, Takes: takes,
		Otherwise: "use the development server of Temporal",
	}
}
