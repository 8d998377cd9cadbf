package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const liveSecret = "Xq7-16C7e42F292c6912E7710c838347Ae178B4a"

func live(t *testing.T) *fingerprint.Set {
	t.Helper()
	s := &fingerprint.Set{}
	if err := s.Add("token", []byte(liveSecret)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScrubbed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	answer := func(secrets *fingerprint.Set, out contract.ExecuteOut, err error) (contract.ExecuteOut, error) {
		f := Scrubbed(secrets, logger, "execute", func(context.Context, contract.ExecuteIn) (contract.ExecuteOut, error) { return out, err }, LostExecute)
		return f(t.Context(), contract.ExecuteIn{})
	}
	leaks := contract.ExecuteOut{
		Outcome: contract.Refused, Value: json.RawMessage(`{"n":12345678901234567890,"t":"` + liveSecret + `"}`), DurationUs: 9007199254740993,
		Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: "with " + liveSecret},
	}
	got, err := answer(live(t), leaks, nil)
	if err != nil || string(got.Value) != `{"n":12345678901234567890,"t":"[redacted]"}` || got.Failure.SafeMessage != "with [redacted]" ||
		got.Outcome != contract.Refused || got.DurationUs != 9007199254740993 {
		t.Errorf("got %+v, %v", got, err)
	}
	if !strings.Contains(log.String(), "activity=execute everything=false") || strings.Contains(log.String(), liveSecret) {
		t.Errorf("logged %s", &log)
	}
	// The secret is split over two strings, so the whole answer is dropped.
	pieces := contract.ExecuteOut{
		Outcome: contract.Done, Value: json.RawMessage(`["` + liveSecret[:20] + `","` + liveSecret[20:] + `"]`), DurationUs: 7,
		ClaimID: "claim", Dispatch: 3, LeftBehind: true, Retryable: true, NothingHappened: true,
	}
	// The call accounts for the claim of the attempt.
	want := contract.ExecuteOut{
		Outcome: contract.Refused, DurationUs: 7, ClaimID: "claim", Dispatch: 3, LeftBehind: true, Failure: &hook.Failure{Code: toolspec.CodeRedactionFailed},
	}
	if got, err = answer(live(t), pieces, nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	// The tool gave no answer, so the outcome stays unknown.
	pieces.Outcome, pieces.Failure = contract.Interrupted, &hook.Failure{Code: contract.CauseUnanswered, SafeMessage: "broken"}
	want.Outcome, want.Failure = contract.Interrupted, &hook.Failure{Code: contract.CauseUnanswered}
	if got, err = answer(live(t), pieces, nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if v := LostStage(hook.Verdict{Value: json.RawMessage(`1`), Delta: hook.Delta{Args: json.RawMessage(`2`)}, DurationUs: 3}); v.Outcome != hook.Failed ||
		v.Failure.Code != toolspec.CodeRedactionFailed || v.Size() != 0 || v.DurationUs != 3 {
		t.Errorf("a stage answers %+v", v)
	}
	if out := LostProbe(contract.ProbeOut{Value: json.RawMessage(`1`)}); out.Outcome != contract.Lost || out.Value != nil {
		t.Errorf("a probe answers %+v", out)
	}
	// An answer without a secret, and an error, stay as they are.
	broken := errors.New("broke")
	for _, secrets := range []*fingerprint.Set{nil, {}, live(t)} {
		clean := contract.ExecuteOut{Value: json.RawMessage(`{ "b":1.0, "a":"<nothing>" }`)}
		if got, err := answer(secrets, clean, nil); err != nil || string(got.Value) != string(clean.Value) {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := answer(secrets, clean, broken); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}
