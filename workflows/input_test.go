package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// inputStages are the stages at which a hook can change the arguments.
var inputStages = []hook.Point[*hook.Input]{hook.WillParseInput, hook.WillValidateInput, hook.WillNormalizeInput, hook.WillRedactInput}

// TestChangedInputIsValidated: if a hook sets arguments that the tool does not accept, the call ends before a person is asked and before the
// tool runs. From willValidateInput on, it ends before the next input stage.
func TestChangedInputIsValidated(t *testing.T) {
	for _, tc := range []struct {
		breaks, fails hook.Stage
		ran           string
	}{
		{"", "", "willParseInput willValidateInput willNormalizeInput willRedactInput"},
		{"willParseInput", "willValidateInput", "willParseInput"},
		{"willValidateInput", "willValidateInput", "willParseInput willValidateInput"},
		{"willNormalizeInput", "willNormalizeInput", "willParseInput willValidateInput willNormalizeInput"},
		{"willRedactInput", "", "willParseInput willValidateInput willNormalizeInput willRedactInput"},
	} {
		for name, policy := range map[string]string{"runs": freePolicy, "asks": repairPolicy} {
			t.Run(name+" "+string(tc.breaks), func(t *testing.T) {
				var ran []string
				var options []hook.Option
				for _, p := range inputStages {
					options = append(options, p.Do(func(_ context.Context, v *hook.Input) error {
						ran = append(ran, string(p.Stage()))
						if v.SetArgs(echoIn{Text: string(p.Stage())}); p.Stage() == tc.breaks {
							v.SetArgs(map[string]any{"text": 7})
						}
						return nil
					}))
				}
				r := newRig(t, rigOptions{policy: policy, hooks: []hook.Hook{hook.New("h", options...)}})
				r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
				result := r.run(call("core__write", args))
				if got := strings.Join(ran, " "); got != tc.ran {
					t.Errorf("ran %s, want %s", got, tc.ran)
				}
				if tc.breaks == "" {
					if !result.OK || string(result.Value) != `{"text":"willRedactInput"}` {
						t.Errorf("ended with %+v", result)
					}
					return
				}
				if result.ErrorCode != toolspec.CodeValidation || r.ran() != 0 || len(r.records.requests) != 0 {
					t.Fatalf("%d requests, ended with %+v", len(r.records.requests), result)
				}
				if d := result.Details; d.Path != "/text" || d.Stage != string(tc.fails) || len(d.Problems) != 1 {
					t.Errorf("details %+v", d)
				}
			})
		}
	}
}

// TestWrappedChangedInput: if a hook sets arguments as JSON inside a string, the hooks of later stages get the decoded arguments.
func TestWrappedChangedInput(t *testing.T) {
	for _, breaks := range []hook.Stage{"willParseInput", "willValidateInput"} {
		var seen string
		r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{
			hook.New("writes", onInput(breaks, func(v *hook.Input) { v.SetArgs(`{"text":"wrapped"}`) })),
			hook.New("reads", onInput("willNormalizeInput", func(v *hook.Input) { seen = string(v.Args()) + string(v.SafeArgs()) })),
		}})
		result := r.run(call("core__write", args))
		if !result.OK || string(result.Value) != `{"text":"wrapped"}` || seen != `{"text":"wrapped"}{"text":"wrapped"}` {
			t.Errorf("after %s the next hook sees %s; ended with %+v", breaks, seen, result)
		}
	}
}

// onInput returns a handler of an input stage.
func onInput(s hook.Stage, do func(*hook.Input)) hook.Option {
	for _, p := range inputStages {
		if p.Stage() == s {
			return p.Do(func(_ context.Context, v *hook.Input) error { do(v); return nil })
		}
	}
	panic(s)
}

// TestValidationOfChangedInputOnDemand: willValidateInput is in the plan only if a hook at this stage or at an earlier stage can change the
// arguments.
func TestValidationOfChangedInputOnDemand(t *testing.T) {
	for i, want := range []bool{true, true, false, false} {
		p := inputStages[i]
		r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{
			hook.New("h", p.Do(func(_ context.Context, v *hook.Input) error { v.SetArgs(echoIn{Text: "b"}); return nil })),
		}})
		if result := r.run(call("core__read", args)); !result.OK {
			t.Errorf("%s: ended with %+v", p.Stage(), result)
		}
		if got := strings.Contains(r.stages(), "willValidateInput"); got != want {
			t.Errorf("with a hook at %s willValidateInput ran %t, want %t", p.Stage(), got, want)
		}
	}
	r := newRig(t, rigOptions{policy: freePolicy})
	r.run(call("core__read", args))
	if strings.Contains(r.stages(), "Input") {
		t.Errorf("without hooks there are input stages:\n%s", r.stages())
	}
}
