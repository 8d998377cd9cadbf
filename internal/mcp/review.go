package mcp

import "github.com/pawl-run/pawl/toolspec"

// Review is what the person who enabled a tool has set. No field comes from the server.
type Review struct {
	// Digest is the digest of the definition that the person has read.
	Digest string
	Effect toolspec.Effect
	Risk   toolspec.Risk
	// Idempotent says that the server may get the same call twice.
	Idempotent bool
	// Allow is the output allowlist, which a review must have (REDACTION_REQUIRED).
	Allow []string
	// HarmlessNames are names of arguments that look like credentials and are none.
	HarmlessNames []string
	// ReviewDigest is the digest of the review itself.
	ReviewDigest string
}

// Reviews are the reviews of the policy that is in force. It is safe for concurrent use.
type Reviews interface {
	// Review returns the review of a tool by the name that it has at its server.
	Review(server, tool string) (Review, bool)
	// Changed returns a channel that is closed when reviews may differ from those that Review returned
	// before.
	Changed() <-chan struct{}
}
