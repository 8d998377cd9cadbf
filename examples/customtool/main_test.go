package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// away is a shop that does not answer.
type away struct{}

func (away) find(context.Context, string) (order, bool, error) {
	return order{}, false, errors.New("dial 10.0.0.7: refused")
}

func TestOrderStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		shop    orders
		args    string
		value   string
		code    toolspec.Code
		message string
	}{
		"an order":     {sample{}, `{"orderId":"A-1001"}`, `{"status":"shipped"}`, "", ""},
		"no order":     {sample{}, `{"orderId":"A-1"}`, "", toolspec.CodeExecution, "Error executing tool: there is no such order"},
		"no number":    {sample{}, `{"orderId":"1001"}`, "", toolspec.CodeValidation, ""},
		"a shop away":  {away{}, `{"orderId":"A-1001"}`, "", toolspec.CodeExecution, "Error executing tool: the tool failed"},
		"more than it": {sample{}, `{"orderId":"A-1001","all":true}`, "", toolspec.CodeValidation, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := pawltest.Call{Tool: orderStatus(tc.shop), Args: tc.args}.Run(t)
			if string(got.Value) != tc.value || got.Result.ErrorCode != tc.code {
				t.Errorf("got %s, %+v", got.Value, got.Result)
			}
			if tc.message != "" && got.Result.SafeMessage != tc.message {
				t.Errorf("the caller reads %q", got.Result.SafeMessage)
			}
			if strings.Contains(got.Log+string(got.ModelContent), "example.com") {
				t.Errorf("the address of the customer got out: %s, %s", got.Log, got.ModelContent)
			}
		})
	}
}

// TestPolicy: what tenants may do with the tool, by the cases of a file.
func TestPolicy(t *testing.T) {
	t.Parallel()
	pawltest.Cases(t, "policy_cases.yaml", orderStatus(sample{}))
}
