package document

import (
	"time"

	"github.com/pawl-run/pawl/policy/strictyaml"
)

// Bounds of a document. The tags of the structs repeat them for the JSON Schema; a test compares
// the two.
const (
	// MaxDocument bounds a document, in bytes.
	MaxDocument = strictyaml.MaxDocument
	// MaxRules bounds the rules of a tenant, and the tools of a feature, in entries.
	MaxRules = 1024
	// MaxApprovers bounds a list of approvers or of members of a role, in entries.
	MaxApprovers = 256
	// MaxChain bounds a chain, in entries.
	MaxChain = 8
	// MaxEscalations bounds the escalations of a request, in entries.
	MaxEscalations = 4
	// MaxLimits bounds the limits of a tenant, in entries.
	MaxLimits = 64
	// MaxCacheEntries bounds the cache of a tenant, in entries.
	MaxCacheEntries = 256
	// MaxMasks bounds the masks of a tenant, in entries.
	MaxMasks = 64
	// MaxRoles bounds the roles of a tenant, and the roles of a rule, in entries.
	MaxRoles = 256
	// MaxFeatures bounds the features of a tenant, in entries.
	MaxFeatures = 256
	// MaxOverrides bounds the overrides of a tenant, in entries.
	MaxOverrides = 256
	// MaxMessage bounds a message, in characters.
	MaxMessage = 500
	// MaxIdentity bounds an identity, in characters.
	MaxIdentity = 200
	// MaxCondition bounds a condition, in characters.
	MaxCondition = 4096
	// MaxCommands bounds the commands of a rule, in entries.
	MaxCommands = 256
	// MaxCommand bounds a pattern of commands, in characters.
	MaxCommand = 200
	// MaxName bounds the name of a role or of a feature, in characters.
	MaxName = 64
	// MaxToolPattern bounds a pattern of tools: an id of a tool and the *.
	MaxToolPattern = 64 + 1
	maxEntryName   = 100
	// MaxMCPServers bounds the MCP servers of a document, in entries.
	MaxMCPServers = 256
	// MaxMCPTools bounds the reviewed tools of an MCP server, in entries.
	MaxMCPTools = 1024
	// maxMCPPaths bounds the paths of the output that a review allows, in entries.
	maxMCPPaths = 256
	// maxMCPHarmless bounds the harmless names of a review, in entries.
	maxMCPHarmless = 64
	// maxPointer bounds a JSON pointer, in characters.
	maxPointer = 512
)

// MaxQuorum is the maximum number of people who have to approve.
const MaxQuorum = 16

const (
	// DefaultExpiry is the lifetime of an approval request if the policy sets none.
	DefaultExpiry = 24 * time.Hour
	// MinExpiry is the shortest lifetime of an approval request, and the shortest duration of a
	// document.
	MinExpiry = time.Second
	// MaxExpiry is the longest lifetime of an approval request, and the longest duration of a
	// document.
	MaxExpiry = 30 * 24 * time.Hour
)

// Bounds of the budgets that a policy may give to a call.
const (
	maxDeadline   = 30 * 24 * time.Hour
	maxAttempts   = 100
	maxRetryDelay = time.Hour
)

// Bounds of a limit.
const (
	maxTokens     = 1_000_000
	maxConcurrent = 10_000
)
