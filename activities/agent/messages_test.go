package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/judge"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestTranslated: a round is written in every other format, whatever its model has written as names and arguments, and with all parts of its answers.
func TestTranslated(t *testing.T) {
	t.Parallel()
	calls, answers := []PlannedCall{}, []wire.Answer{}
	for name, given := range map[string]string{
		"core__ls": `{"a":1,"a":2}`, "functions.core__ls": `{"a":"\ud800"}`, "": `{"a":1e400}`, strings.Repeat("é", 200): `not JSON`, "\x00": `{"path":"kept"}`,
	} {
		calls = append(calls, PlannedCall{Name: name, Given: []byte(given)})
		answers = append(answers, wire.Answer{
			Content: json.RawMessage(`"` + strings.Repeat("x", 40<<10) + `"`), Parts: []wire.Part{{MediaType: "text/plain", Data: "a page"}, {MediaType: "image/png", Data: "aW1hZ2U="}},
		})
	}
	for format, codec := range codecs {
		w := &writer{codec: codec}
		messages, err := w.round(Round{Round: 1, Format: "another", Plan: Plan{Text: "said", Calls: calls}, Answers: slices.Clone(answers)})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		text := string(slices.Concat(messages...))
		for _, want := range []string{"said", "kept", "a page", "functions_core__ls"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", format, want)
			}
		}
		if strings.Contains(text, "functions.core__ls") || !strings.Contains(text, "aW1hZ2U=") && !strings.Contains(text, "a part of type image/png") {
			t.Errorf("%s: a name is not safe, or the image is gone", format)
		}
	}
}

// TestRoundsBeforeOthers: a round that other rounds followed ends no turn, also if it looks like an end.
func TestRoundsBeforeOthers(t *testing.T) {
	t.Parallel()
	done := Round{Round: 1, Plan: Plan{Calls: []PlannedCall{{Call: contract.AgentCall{Ends: true}}}}, Answers: []wire.Answer{{Content: json.RawMessage(`"done"`)}}}
	if last := roundOut(Run{Round: 1}, done); !last.Final {
		t.Errorf("the last round is %+v", last)
	}
	if before := roundOut(Run{Round: 2}, done); before.Final || !before.Answered {
		t.Errorf("the round before is %+v", before)
	}
	if last := roundOut(Run{Round: 1}, Round{Round: 1}); last.Again {
		t.Errorf("the last round is %+v", last)
	}
	if before := roundOut(Run{Round: 2}, Round{Round: 1}); !before.Again {
		t.Errorf("the round before is %+v", before)
	}
}

// TestDropUncarried: an image stays in the answers of a round only if requests in the format of the round carry it. Otherwise the answer has a note and the
// reference of the value.
func TestDropUncarried(t *testing.T) {
	t.Parallel()
	image, sound := wire.Part{MediaType: "image/png", Data: strings.Repeat("A", 1<<20)}, wire.Part{MediaType: "audio/wav", Data: strings.Repeat("A", 1<<20)}
	text := wire.Part{MediaType: "text/plain", Data: strings.Repeat("x", 1<<10)}
	for name, carriesImages := range map[string]bool{"openai": false, "anthropic": true, "responses": true, "gemini": true, "ollama": true} {
		answers := []wire.Answer{{Content: json.RawMessage(`"see"`), Parts: []wire.Part{text, image}}, {Content: json.RawMessage(`"hear"`), Parts: []wire.Part{sound}}}
		dropUncarried(answers, []toolspec.Result{{InvocationID: "id"}, {}}, codecs[name])
		if answers[0].Parts[0] != text || (answers[0].Parts[1] == image) != carriesImages || (answers[0].OutputRef == "") != carriesImages {
			t.Errorf("%s: an image of %.80q, with the reference %q", name, answers[0].Parts[1].Data, answers[0].OutputRef)
		}
		if !carriesImages && answers[0].Parts[1] != (wire.Part{MediaType: "text/plain", Data: image.Words()}) {
			t.Errorf("%s says %.80q", name, answers[0].Parts[1].Data)
		}
		if hasSound := answers[1].Parts[0] == sound; hasSound && name != "gemini" || answers[1].OutputRef != "" {
			t.Errorf("%s: a sound of %.80q, with the reference %q", name, answers[1].Parts[0].Data, answers[1].OutputRef)
		}
	}
}

type noLease struct{ err error }

func (n noLease) Lease(context.Context, broker.Request) (*broker.Lease, broker.Answer, error) {
	return nil, "", n.err
}

// TestConnectionWithoutToken: a connection whose token cannot be renewed now is a fault of the model, so that the fallback is asked. If the database is away,
// the activity is tried again.
func TestConnectionWithoutToken(t *testing.T) {
	t.Parallel()
	away := errs.Transient(errors.New("away"))
	for err, isFault := range map[error]bool{errs.Transient(broker.ErrNoToken): true, away: false} {
		a := &Agents{Broker: noLease{err}, Roles: func(context.Context, string, string) ([]string, error) { return nil, nil }}
		_, _, _, got := a.modelClient(t.Context(), contract.AgentRun{}, Run{}, pawlagent.Model{Connection: "c"})
		var fault *provider.Error
		if errors.As(got, &fault) != isFault || isFault && !fault.Retry || !isFault && !errs.IsTransient(got) {
			t.Errorf("%v gives %v", err, got)
		}
	}
}

// unreadable has a policy that this worker cannot read.
type unreadable struct{}

func (unreadable) Catalog(context.Context, catalog.Viewer) (catalog.Catalog, error) {
	return catalog.Catalog{}, judge.ErrPolicyUnreadable
}

// TestUnreadablePolicy: where a request to a model needs a policy that this worker cannot read, the activity is tried again, for another worker.
func TestUnreadablePolicy(t *testing.T) {
	t.Parallel()
	a := &Agents{
		Broker: noLease{}, Roles: func(context.Context, string, string) ([]string, error) { return nil, judge.ErrPolicyUnreadable },
		Client: client.New(nil, client.Options{Catalogs: unreadable{}}),
	}
	if _, _, _, err := a.modelClient(t.Context(), contract.AgentRun{}, Run{}, pawlagent.Model{Connection: "c"}); !errs.IsTransient(err) {
		t.Errorf("the connection of the model: %v", err)
	}
	run := Run{Document: pawlagent.Document{Tools: []string{"core__echo"}}}
	if _, _, err := a.offer(t.Context(), contract.AgentAskIn{}, run, Conversation{}, pawlagent.Model{}, openai.Codec{}); !errs.IsTransient(err) {
		t.Errorf("the offer: %v", err)
	}
}
