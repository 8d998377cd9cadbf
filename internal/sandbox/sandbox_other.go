//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"io"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Sandbox runs scripts. There is none on this system.
type Sandbox struct{}

// Open returns ErrUnsupported.
func Open(context.Context, Options) (*Sandbox, error) { return nil, ErrUnsupported }

// Protections returns nil.
func (*Sandbox) Protections() []string { return nil }

// Run implements capability.Commands.
func (*Sandbox) Run(context.Context, capability.Command, io.Writer) (capability.CommandEnd, error) {
	return capability.CommandEnd{}, ErrUnsupported
}
