package judge

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Unhydrated returns the provenance of a call that ends before its arguments are hydrated, with
// the kind of the problem and its place in the input.
func Unhydrated(inv toolspec.Invocation, kind, path string) *toolspec.Provenance {
	p := hydrate.Unhydrated(inv.ToolID, inv.Args, kind, path)
	if inv.Provider != nil {
		p.From(wire.NativeCall(*inv.Provider))
	}
	return &p
}
