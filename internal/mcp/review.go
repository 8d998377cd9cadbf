package mcp

import "github.com/pawl-run/pawl/policy"

// Reviews are the reviews of the policy that is in force. It is safe for concurrent use.
type Reviews interface {
	// Review returns the review of a tool by the name that it has at its server.
	Review(server, tool string) (policy.MCPReview, bool)
	// Changed returns a channel that is closed when reviews may differ from those that Review returned
	// before.
	Changed() <-chan struct{}
}
