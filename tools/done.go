package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// doneArgs bounds the arguments of core__done, in bytes.
const doneArgs = 32 << 10

type doneIn struct {
	Message string `json:"message" jsonschema:"minLength=1" jsonschema_description:"The final answer of the run: what was done, and what the reader needs to know."`
}

// Done is core__done: it ends a run of an agent, with the message as its answer. The loop of the agent ends the run; the tool
// itself only returns the message.
func Done() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__done",
		Title: "Finish the run",
		Description: "Ends the run with a final message. Call it once, alone, when the task is complete or when you cannot go on, and say in the message " +
			"what you did or what is missing. Calls after it do not run. The message takes at most about 32 KiB.",
		Version:      "1",
		Effect:       toolspec.ReadOnly,
		Risk:         toolspec.LowRisk,
		Fast:         true,
		MaxArgsBytes: doneArgs,
		Redaction:    toolspec.Redaction{Allow: []string{""}},
		Tags:         []string{"run"},
		Examples:     []toolspec.Example{{Title: "finish with an answer", Args: `{"message": "All 14 tests pass."}`}},
	}, done)
}

func done(_ context.Context, in doneIn, _ toolspec.Call) (string, error) { return in.Message, nil }
