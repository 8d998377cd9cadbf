package main

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

type sumIn struct {
	A float64 `json:"a" jsonschema_description:"The first number."`
	B float64 `json:"b" jsonschema_description:"The second number."`
}

type sumOut struct {
	Sum float64 `json:"sum" jsonschema_description:"The sum of both."`
}

// Sum is core__sum: it adds two numbers.
func Sum() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "core__sum", Title: "Sum two numbers", Description: "Adds two numbers.", Version: "1",
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/sum"}},
		Examples:  []toolspec.Example{{Title: "one and two", Args: `{"a": 1, "b": 2}`}},
	}, func(_ context.Context, in sumIn, _ toolspec.Call) (sumOut, error) {
		return sumOut{Sum: in.A + in.B}, nil
	})
}
