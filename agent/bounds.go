package agent

// Bounds of a document. Package agentfile applies them; docs/agents-reference.md lists them.
const (
	// MaxName bounds the name and the version of an agent, in characters.
	MaxName = 64
	// MaxInstructions bounds the instructions, in bytes.
	MaxInstructions = 128 << 10
	// MaxDescription bounds the description, in bytes.
	MaxDescription = 1000
	// MaxAgents bounds the agents that an agent may run, in entries.
	MaxAgents = 32
	// MaxTools bounds the tools of an agent, in entries.
	MaxTools = 1024
	// MaxMembers bounds the further members of a request, in entries.
	MaxMembers = 64
	// DefaultMaxTokens is Model.MaxTokens of a document that does not set it.
	DefaultMaxTokens = 8192
	// MaxMaxTokens bounds Model.MaxTokens.
	MaxMaxTokens = 1_000_000
	// MaxLine bounds the name of a model, the id of a connection, and the name, the version and the id of a run of a graph, in characters.
	MaxLine = 200
)

// Bounds of Limits. A limit that a document does not set has its default, and Tokens and MicroUSD have none.
const (
	// DefaultRounds is the default of Limits.Rounds.
	DefaultRounds = 50
	// MaxRounds bounds Limits.Rounds.
	MaxRounds = 20_000
	// DefaultCalls is the default of Limits.Calls.
	DefaultCalls = 200
	// MaxCalls bounds Limits.Calls.
	MaxCalls = 100_000
	// DefaultSeconds is the default of Limits.Seconds: an hour.
	DefaultSeconds = 60 * 60
	// MaxSeconds bounds Limits.Seconds: 30 days, as for an approval request. Runs wait for people.
	MaxSeconds = 30 * 24 * 60 * 60
	// MaxTokens bounds Limits.Tokens.
	MaxTokens = 10_000_000_000
	// MaxMicroUSD bounds Limits.MicroUSD: a million US dollars.
	MaxMicroUSD = 1_000_000_000_000
	// DefaultContextBytes is the default of Limits.ContextBytes: 400 KiB.
	DefaultContextBytes = 400 << 10
	// MinContextBytes is the least Limits.ContextBytes: 16 KiB.
	MinContextBytes = 16 << 10
	// MaxContextBytes bounds Limits.ContextBytes: 4 MiB.
	MaxContextBytes = 4 << 20
	// DefaultAtOnce is the default of Limits.AtOnce.
	DefaultAtOnce = 1
	// MaxAtOnce bounds Limits.AtOnce.
	MaxAtOnce = 16
)
