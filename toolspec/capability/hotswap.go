package capability

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// HotSwapKey is the typed name of HotSwap.
var HotSwapKey = toolspec.NewCapability[HotSwap]("hot_swap")

// HotSwap makes the workers of an installation read again what an operator has changed.
type HotSwap interface {
	// ReloadPolicy makes every running worker read the active policy and the shadow policy again, and returns
	// the version of the active policy. It does not wait for the other workers. If no policy is active, the
	// workers read again that there is none, and the error is ErrNoPolicy.
	ReloadPolicy(ctx context.Context) (PolicyVersion, error)
	// ReloadTools makes every running worker read the registered tools again. It does not wait for them.
	ReloadTools(ctx context.Context) error
}

// ErrNoPolicy says that no policy is active.
var ErrNoPolicy = errors.New("no policy is active")

// PolicyVersion is a version of the policy.
type PolicyVersion struct {
	// Digest is the SHA-256 of the policy in hexadecimal.
	Digest      string
	ActivatedAt time.Time
}
