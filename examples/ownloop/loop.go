package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/pawlflow"
)

// maxRounds bounds how often the model may call tools.
const maxRounds = 20

// Loop asks the model, makes its calls and answers them, until the model calls nothing more. It returns the last words
// of the model.
func Loop(ctx workflow.Context, run, question string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 2 * time.Minute})
	asked, err := json.Marshal(map[string]string{"role": "user", "content": question}) //workflowcheck:ignore
	if err != nil {
		return "", err
	}
	var a *activities // its methods name the activities
	messages := []json.RawMessage{asked}
	for n := range maxRounds {
		var plan turn.Plan
		if err := workflow.ExecuteActivity(ctx, a.Ask, run, n, messages).Get(ctx, &plan); err != nil {
			return "", err
		}
		if len(plan.Calls) == 0 {
			return plan.Response.Text, nil
		}
		calls := make([]pawlflow.Planned, len(plan.Calls))
		for i, c := range plan.Calls {
			calls[i] = pawlflow.Planned{Invocation: c.Invocation, Alone: c.Alone, Refused: c.Refused, Same: c.Same}
		}
		// A call that is denied or fails has a result too: the model reads it, and corrects its call or says so.
		results, err := pawlflow.Turn(ctx, calls, 4)
		if err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return "", errors.New("the loop was cancelled")
		}
		var answered []json.RawMessage
		if err := workflow.ExecuteActivity(ctx, a.Answer, plan, results).Get(ctx, &answered); err != nil {
			return "", err
		}
		messages = append(messages, answered...)
	}
	return "", fmt.Errorf("no answer in %d rounds", maxRounds)
}
