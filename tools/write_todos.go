package tools

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type writeTodosIn struct {
	Todos []todo `json:"todos" jsonschema:"maxItems=100" jsonschema_description:"The whole list, in its order, at most 100 todos. It takes the place of the list before; an empty list clears it."`
}

type todo struct {
	Text   string `json:"text" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"What is to be done."`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=cancelled"`
}

type writeTodosOut struct {
	Total      int `json:"total" jsonschema_description:"How many todos the list has."`
	Pending    int `json:"pending" jsonschema_description:"How many are pending."`
	InProgress int `json:"inProgress" jsonschema_description:"How many are in progress."`
	Completed  int `json:"completed" jsonschema_description:"How many are completed."`
	Cancelled  int `json:"cancelled" jsonschema_description:"How many are cancelled."`
}

// WriteTodos is core__write_todos: the list of todos of the session. It needs capability.Plans.
func WriteTodos() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__write_todos",
		Title: "Write todos",
		Description: "Writes the list of todos of this session. Give the whole list each time: it replaces the one before. " +
			"Use it to plan work of several steps, and write it again when the status of a todo changes. core__memory shows the list if you view /todos.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.LowRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline,
		Redaction:    toolspec.Redaction{Allow: []string{"/total", "/pending", "/inProgress", "/completed", "/cancelled"}},
		Capabilities: []toolspec.CapabilityName{capability.PlansKey.Name()},
		Tags:         []string{"goals"},
		Examples: []toolspec.Example{
			{Title: "Plan two steps", Args: `{"todos":[{"text":"Read the schema","status":"in_progress"},{"text":"Write the migration","status":"pending"}]}`},
		},
	}, writeTodos)
}

func writeTodos(ctx context.Context, in writeTodosIn, call toolspec.Call) (writeTodosOut, error) {
	if in.Todos == nil {
		in.Todos = []todo{}
	}
	list, err := json.Marshal(in.Todos)
	if err != nil {
		return writeTodosOut{}, err
	}
	if _, err := capability.PlansKey.From(call).WriteTodos(ctx, capability.MemoryCallerOf(call), string(list)); err != nil {
		return writeTodosOut{}, explainMemory(err)
	}
	out := writeTodosOut{Total: len(in.Todos)}
	for _, t := range in.Todos {
		switch t.Status {
		case "pending":
			out.Pending++
		case "in_progress":
			out.InProgress++
		case "completed":
			out.Completed++
		case "cancelled":
			out.Cancelled++
		}
	}
	return out, nil
}
