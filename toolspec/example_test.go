package toolspec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

func ExampleDefine() {
	type In struct {
		Text string `json:"text" jsonschema_description:"what to count"`
	}
	type Out struct {
		Words int `json:"words"`
	}
	count := toolspec.Define(toolspec.Definition{
		ID:          "core__count_words",
		Description: "Counts the words of a text.",
		Version:     "1",
		Effect:      toolspec.ReadOnly,
		Risk:        toolspec.LowRisk,
		Fast:        true,
		Redaction:   toolspec.Redaction{Allow: []string{"/words"}},
	}, func(_ context.Context, in In, _ toolspec.Call) (Out, error) {
		return Out{Words: len(strings.Fields(in.Text))}, nil
	})

	out, err := count.Run(context.Background(), json.RawMessage(`{"text":"a stitch in time"}`), toolspec.Call{})
	fmt.Println(string(out), err)
	// Output: {"words":4} <nil>
}

func ExampleRedaction() {
	r := toolspec.Redaction{
		Allow:     []string{"/files/*/name"},
		MaskInput: []string{"/message"},
	}
	out, err := r.Output(json.RawMessage(`{"files":[{"name":"a.txt","owner":"root"}],"host":"10.0.0.1"}`))
	fmt.Println(string(out), err)
	in, err := r.Input(json.RawMessage(`{"to":"ann","message":"for your eyes only"}`))
	fmt.Println(string(in), err)
	// Output:
	// {"files":[{"name":"a.txt"}]} <nil>
	// {"message":"***","to":"ann"} <nil>
}
