package pawltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

type shownIn struct {
	Text string `json:"text"`
	PIN  string `json:"pin,omitempty"`
}

// showing is a tool whose preview is show.
func showing(show func(ctx context.Context, in shownIn, call toolspec.Call) (toolspec.Preview, error)) toolspec.Tool {
	return toolspec.WithPreview(toolspec.Define(toolspec.Definition{
		ID: "test__show", Description: "Shows.", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.HighRisk,
		Redaction: toolspec.Redaction{
			Allow: []string{"/state"}, MaskInput: []string{"/pin"}, MaskOutput: []toolspec.Masking{{Path: "/state", With: toolspec.MaskEmail}},
		},
	}, func(_ context.Context, _ shownIn, call toolspec.Call) (out struct {
		State string `json:"state"`
	}, err error,
	) {
		p, ok := call.Previewed()
		if out.State = p.State; !ok {
			out.State = "none"
		}
		return out, nil
	}), show)
}

func text(s string) func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
	return func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
		return toolspec.Preview{Text: s, State: "s"}, nil
	}
}

// A preview leaves the worker without what is masked, without secrets and within its bound, and one that
// fails says so and no more.
func TestPreview(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for name, c := range map[string]struct {
		show    func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error)
		args    string
		text    string
		missing string
		digest  bool
	}{
		"plain":     {show: text("+a\n"), text: "+a\n", digest: true},
		"masked":    {show: text("+to ann@example.com\n"), text: "+to ***\n", digest: true},
		"cut":       {show: text(long), text: long[:64800], digest: true}, // a newline has two bytes as JSON
		"NUL":       {show: text("a\x00b\xff"), text: "a\uFFFDb\uFFFD", digest: true},
		"shape":     {show: text("-key = AKIAABCDEFGHIJKLMNOP\n"), missing: "the preview has something of the shape of a credential", digest: true},
		"masked in": {show: text("+pin 1234\n"), args: `{"text":"x","pin":"1234"}`, missing: "arguments of the call are masked, and the preview could show them", digest: true},
		"answer": {show: func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
			return toolspec.Preview{}, toolspec.Safef("no such thing of ann@example.com")
		}, missing: "no such thing of ***", digest: true},
		"error": {show: func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
			return toolspec.Preview{Text: "half"}, errors.New("canary")
		}, missing: "the preview failed; the worker log has the cause"},
		"panic": {show: func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
			panic("canary")
		}, missing: "the preview failed; the worker log has the cause"},
		"hangs": {show: func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) { select {} },
			missing: "the preview took longer than 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := pawltest.Call{Tool: showing(c.show), Args: c.args}
			if c.args == "" {
				call.Args = `{"text":"x"}`
			}
			got := call.Preview(t)
			if got.Text != c.text || got.Missing != c.missing || (got.Digest != "") != c.digest || got.Truncated != (name == "cut") {
				t.Errorf("%.200q, %q, digest %q, truncated %v", got.Text, got.Missing, got.Digest, got.Truncated)
			}
			if strings.Contains(got.Log, "canary") {
				t.Errorf("the log has the text of an error:\n%s", got.Log)
			}
		})
	}
}

// The tool runs only if its preview is the approved one, or says that nothing is left to do.
func TestApprovedPreview(t *testing.T) {
	t.Parallel()
	now := toolspec.Preview{Text: "a", State: "1"}
	call := pawltest.Call{Args: `{"text":"x"}`, Tool: showing(func(context.Context, shownIn, toolspec.Call) (toolspec.Preview, error) {
		switch now.State {
		case "broken":
			return now, errors.New("broken")
		case "refuses":
			return now, toolspec.Safef("there is nothing to do")
		}
		return now, nil
	})}
	want := func(value string) {
		t.Helper()
		got := call.Run(t)
		if value == "" && got.Result.ErrorCode != toolspec.CodeApprovalStale || value != "" && string(got.Value) != `{"state":"`+value+`"}` {
			t.Errorf("%+v, %s, want %q", got.Result, got.Value, value)
		}
	}
	want("none") // nobody was asked
	call.PreviewDigest = call.Preview(t).Digest
	want("1")
	now = toolspec.Preview{Text: "a", State: "2"}
	want("2")
	now = toolspec.Preview{Text: "b", State: "3"}
	want("")
	now.Done = true
	want("3")
	now = toolspec.Preview{Text: "a", State: "broken"}
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeInternal {
		t.Errorf("a preview that fails: %+v", got.Result)
	}
	now = toolspec.Preview{State: "refuses"}
	call.PreviewDigest = call.Preview(t).Digest
	if got := call.Run(t); string(got.Value) != `{"state":""}` { // people have approved the call as it is: the preview refuses it
		t.Errorf("%+v", got.Result)
	}
	now = toolspec.Preview{Text: "a", State: "1"}
	want("")
	call.Tool = toolspec.Define(call.Tool.Definition(), func(context.Context, shownIn, toolspec.Call) (out struct {
		State string `json:"state"`
	}, err error,
	) {
		return out, nil
	})
	want("") // the tool has no preview any more
}
