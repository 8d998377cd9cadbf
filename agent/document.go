package agent

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// ToolPrefix begins the tool id by which a kill switch stops an agent. The name of the agent
// follows it.
const ToolPrefix = "agent__"

// Document is one version of an agent. Its JSON is the canonical form of the YAML that people write.
type Document struct {
	// Name names the agent: 1 to 64 characters of a-z 0-9 _ -, the first a letter.
	Name string `json:"name"`
	// Version is the author's name for this version: 1 to 64 characters of A-Z a-z 0-9 _ . -
	Version string `json:"version"`
	// Description says what the agent does. The model of another agent that may run it reads it.
	Description string `json:"description,omitempty"`
	// Model answers the rounds of a run.
	Model Model `json:"model"`
	// Fallback answers a round for which Model has given no answer: after all its retries, or at once after a fault that
	// does not pass.
	Fallback *Model `json:"fallback,omitempty"`
	// Summary writes a summary of the oldest rounds when requests leave them out. Without Summary, the requests have no
	// summary of them.
	Summary *Model `json:"summary,omitempty"`
	// Instructions is the system message.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the ids of the tools that the model is offered, in their order. A run can use no other
	// tool, and of these only what policy allows.
	Tools []string `json:"tools,omitempty"`
	// Agents are the names of the agents that the model may run with the tool RunTool, in their active versions.
	Agents []string `json:"agents,omitempty"`
	// Choice says whether the model may, must or must not call tools.
	Choice Choice `json:"choice,omitzero"`
	// Output is the JSON Schema of the final answer. If it is set, the final answer is JSON that the schema
	// accepts, and not a text.
	Output json.RawMessage `json:"output,omitempty"`
	// Limits bound a run.
	Limits Limits `json:"limits"`
	// Graph names the graph of which the agent is a part. It is only recorded, and Input.GraphRunID needs it.
	Graph *Graph `json:"graph,omitempty"`
}

// Choice says whether a model calls tools.
type Choice struct {
	// Mode is wire.Auto if it is empty.
	Mode wire.Mode `json:"mode,omitempty"`
	// Tool is the id of the tool, for wire.Named.
	Tool string `json:"tool,omitempty"`
}

// Model says which model to ask, and where.
type Model struct {
	// Format is the format of the provider: openai, responses, anthropic, ollama or gemini.
	Format string `json:"format"`
	// Name is the provider's name of the model.
	Name string `json:"name"`
	// Connection is the id of the connection that has the key. It belongs to the tenant of the run. The subject of
	// the run, or else its actor, needs a grant for it.
	Connection string `json:"connection,omitempty"`
	// URL is where the API begins. With a connection it may be empty; otherwise its host is one of the
	// hosts of the connection. Without a connection a worker asks only the URLs of its configuration.
	URL string `json:"url,omitempty"`
	// MaxTokens bounds the tokens of one response.
	MaxTokens int `json:"maxTokens"`
	// Strict asks the provider to make the model follow the schemas of the tools.
	Strict bool `json:"strict,omitempty"`
	// Members are further members of each request, such as temperature.
	Members map[string]json.RawMessage `json:"members,omitempty"`
}

// Limits bound a run. Every limit has a value: reading a document fills in the defaults.
type Limits struct {
	// Rounds bounds the requests to the model that are answered.
	Rounds int `json:"rounds"`
	// Calls bounds the tool calls.
	Calls int `json:"calls"`
	// Seconds bounds the time from the start of the run to its end, with the time in which people decide.
	Seconds int `json:"seconds"`
	// Tokens bounds the tokens of all requests and responses together. 0 is no bound.
	Tokens int `json:"tokens,omitempty"`
	// MicroUSD bounds the cost of the model, in millionths of a US dollar. 0 is no bound.
	MicroUSD int64 `json:"microUSD,omitempty"`
	// ContextBytes limits the messages and the instructions of one request, in bytes of JSON. If they are larger, Pawl
	// replaces the oldest outputs of tools by references, and then leaves out the oldest rounds. The first messages and the
	// last round stay whole, so a request can be larger than ContextBytes.
	ContextBytes int `json:"contextBytes"`
	// Offered bounds the tools of one request. If the run may use more, a request has those that fit the last messages of people best.
	// 0 is no bound.
	Offered int `json:"offered,omitempty"`
	// AtOnce bounds the reads of one round that run at the same time. 1 runs each call after the one before it.
	AtOnce int `json:"atOnce"`
}

// Graph is the caller's name for a graph of agents.
type Graph struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
