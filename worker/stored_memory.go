package worker

import "github.com/pawl-run/pawl/toolspec/capability"

// storedMemory is the capabilities Memory and Plans. As with storedOutputs, tools are bound to it before the database is open.
type storedMemory struct {
	capability.Memory
	capability.Plans
}

func newStoredMemory() *storedMemory { return &storedMemory{} }
