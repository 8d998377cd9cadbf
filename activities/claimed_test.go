package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// claimedWorld returns a world with a fast write, whose attempts run in the claimed lane.
func claimedWorld(t *testing.T, run func(context.Context, in, toolspec.Call) (any, error)) *world {
	t.Helper()
	w := newWorld(t, setup{def: func(d *toolspec.Definition) { d.Fast = true }, run: run})
	w.claimsLocally = true
	return w
}

// TestClaimedAttempt: an attempt in the claimed lane makes a claim, and its answer is kept if the tool has
// answered.
func TestClaimedAttempt(t *testing.T) {
	ok := contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"hello"}`), OutputInfo: toolspec.OutputInfo{Bytes: 16}}
	refused := contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: toolspec.ErrorPrefix + "no room"}}
	for name, tc := range map[string]struct {
		run    func(context.Context, in, toolspec.Call) (any, error)
		unkept error
		want   contract.ExecuteOut
		kept   bool
	}{
		"a value": {nil, nil, ok, true},
		"an answer that fails": {func(context.Context, in, toolspec.Call) (any, error) {
			return nil, toolspec.Safef("no room")
		}, nil, refused, true},
		"no answer": {func(context.Context, in, toolspec.Call) (any, error) {
			return nil, toolspec.Unanswered("broken")
		}, nil, contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: contract.CauseUnanswered, SafeMessage: toolspec.ErrorPrefix + "broken"}}, false},
		"a challenge": {func(context.Context, in, toolspec.Call) (any, error) {
			return nil, toolspec.RespondChallenge(map[string]string{"url": "x"})
		}, nil, contract.ExecuteOut{Outcome: contract.Done, Responded: true, Challenge: true, Value: json.RawMessage(`{"url":"x"}`), By: "(tool)"}, false},
		"the record is away": {nil, errs.Transient(errors.New(canary)), ok, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := claimedWorld(t, tc.run)
			w.records.unkept = tc.unkept
			got := w.execute(t.Context(), t, w.executeIn())
			if got.Dispatch != 2 {
				t.Errorf("the answer is of dispatch %d", got.Dispatch)
			}
			if got.Dispatch = 0; !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			claims := w.records.claims
			if len(claims) != 1 || len(claims[0].Subject) != 64 || w.runs != 1 || w.records.looks != 0 {
				t.Fatalf("%d runs with the claims %+v", w.runs, claims)
			}
			if !tc.kept {
				if len(w.records.kept) != 0 {
					t.Errorf("kept %+v", w.records.kept)
				}
				return
			}
			if len(w.records.kept) != 1 {
				t.Fatalf("kept %+v", w.records.kept)
			}
			kept := w.records.kept[0]
			var answer contract.ExecuteOut
			if err := json.Unmarshal(kept.Answer, &answer); err != nil {
				t.Fatal(err)
			}
			answer.Trace = nil
			if kept.Claim != (contract.Claim{Dispatch: 2, ID: claims[0].ClaimID}) || kept.Subject != claims[0].Subject || !reflect.DeepEqual(answer, tc.want) {
				t.Errorf("kept %+v", kept)
			}
			if strings.Contains(string(kept.Answer), canary) {
				t.Error("the canary is kept")
			}
			if tc.unkept != nil && !strings.Contains(w.log.String(), "is not kept") {
				t.Errorf("the log is %s", w.log)
			}
		})
	}
}

// TestClaimedAttemptKeepsTheBytesOfThePayload: a kept answer escapes no more characters than the payload of the workflow,
// so a value that fits into a payload can be kept.
func TestClaimedAttemptKeepsTheBytesOfThePayload(t *testing.T) {
	const secret = "AbCdEfGhIjKlMnOpQrStUvWx"
	secrets := &fingerprint.Set{}
	if err := secrets.Add("token", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{
		def: func(d *toolspec.Definition) { d.Fast = true },
		run: func(context.Context, in, toolspec.Call) (any, error) {
			return out{Text: strings.Repeat("<", 60_000) + " " + secret}, nil
		},
		config: activities.Config{Secrets: secrets},
	})
	w.claimsLocally = true
	if got := w.execute(t.Context(), t, w.executeIn()); got.Outcome != contract.Done || got.Truncated || len(w.records.kept) != 1 {
		t.Errorf("got %s with %d bytes, and kept %d answers", got.Outcome, len(got.Value), len(w.records.kept))
	}
}

// TestClaimedAttemptKeepsNoSecret: a kept answer has no live secret, also if the tool fails with a message that has one. An answer from which a secret cannot
// be removed is not kept.
func TestClaimedAttemptKeepsNoSecret(t *testing.T) {
	const secret = "AbCdEfGhIjKlMnOpQrStUvWx"
	for name, tc := range map[string]struct {
		err  error
		kept []string
	}{
		"a message has it":  {toolspec.Safef("the token %s is refused", secret), []string{toolspec.ErrorPrefix + "the token " + fingerprint.Redacted + " is refused"}},
		"two texts have it": {toolspec.Abort(secret[:12], secret[12:], 0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := &fingerprint.Set{}
			if err := secrets.Add("token", []byte(secret)); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, setup{
				def:    func(d *toolspec.Definition) { d.Fast = true },
				run:    func(context.Context, in, toolspec.Call) (any, error) { return nil, tc.err },
				config: activities.Config{Secrets: secrets},
			})
			w.claimsLocally = true
			if got := w.execute(t.Context(), t, w.executeIn()); got.Outcome != contract.Refused {
				t.Errorf("got %+v", got)
			}
			var kept []string
			for _, row := range w.records.kept {
				var answer contract.ExecuteOut
				if err := json.Unmarshal(row.Answer, &answer); err != nil {
					t.Fatal(err)
				}
				kept = append(kept, answer.Failure.SafeMessage)
			}
			if !reflect.DeepEqual(kept, tc.kept) {
				t.Errorf("kept %q, want %q", kept, tc.kept)
			}
		})
	}
}

// TestClaimedAttemptAfterALostTask: after a lost workflow task, the next execution uses the answer of the
// earlier attempt, and waits for this answer while the tool may run. It never uses the answer of an attempt
// with another subject.
func TestClaimedAttemptAfterALostTask(t *testing.T) {
	answer := json.RawMessage(`{"outcome":"done","value":{"text":"before"}}`)
	before := contract.Claim{Dispatch: 1, ID: "before"}
	taken := contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"before"}`), ClaimID: "before", Dispatch: 1}
	lost := contract.ExecuteOut{Outcome: contract.Claimed, Dispatch: 2}
	for name, tc := range map[string]struct {
		claim   contract.Outcome
		earlier func(look int, subject string) attempt.EarlierClaim
		want    contract.ExecuteOut
		took    time.Duration
		claims  int
	}{
		"it answered": {contract.Claimed, func(_ int, subject string) attempt.EarlierClaim {
			return attempt.EarlierClaim{Claim: before, Answer: answer, Subject: subject, Runs: time.Second}
		}, taken, 0, 1},
		"it answered under this number": {contract.Redelivered, func(_ int, subject string) attempt.EarlierClaim {
			return attempt.EarlierClaim{Claim: before, Answer: answer, Subject: subject}
		}, taken, 0, 1},
		"it runs, and answers": {contract.Claimed, func(look int, subject string) attempt.EarlierClaim {
			if look < 4 {
				return attempt.EarlierClaim{Claim: before, Runs: time.Minute}
			}
			return attempt.EarlierClaim{Claim: before, Answer: answer, Subject: subject, Runs: time.Minute}
		}, taken, 750 * time.Millisecond, 1},
		"it runs, and does not answer": {contract.Claimed, func(look int, _ string) attempt.EarlierClaim {
			return attempt.EarlierClaim{Claim: before, Runs: max(0, 450*time.Millisecond-earlierPause(look))}
		}, lost, 450 * time.Millisecond, 2},
		"it answered something else": {contract.Claimed, func(_ int, subject string) attempt.EarlierClaim {
			return attempt.EarlierClaim{Claim: before, Answer: answer, Subject: subject + "x", Runs: time.Minute}
		}, lost, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := claimedWorld(t, nil)
				w.records.claim = tc.claim
				w.records.earlier = func(look int) attempt.EarlierClaim { return tc.earlier(look, w.records.claims[0].Subject) }
				began := time.Now()
				got, err := w.Execute(t.Context(), w.executeIn())
				if tc.want.ClaimID == "" {
					got.ClaimID = ""
				}
				got.DurationUs = 0
				if err != nil || !reflect.DeepEqual(got, tc.want) {
					t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
				}
				if took := time.Since(began); took != tc.took || w.runs != 0 || len(w.records.claims) != tc.claims || len(w.records.kept) != 0 {
					t.Errorf("%d runs, %d claims and %d kept answers after %s", w.runs, len(w.records.claims), len(w.records.kept), took)
				}
			})
		})
	}
}

// TestClaimedAttemptOfADeadWorkflowTask: the tool is not cancelled when its workflow task ends or its worker begins to stop,
// and its answer is kept.
func TestClaimedAttemptOfADeadWorkflowTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := claimedWorld(t, func(ctx context.Context, in in, _ toolspec.Call) (any, error) {
			cancel() // as the end of the task and the stop of the worker do
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return out{Text: in.Text}, nil
			}
		})
		if got, err := w.Execute(ctx, w.executeIn()); err != nil || got.Outcome != contract.Done || len(w.records.kept) != 1 {
			t.Errorf("got %+v, %v, and kept %+v", got, err, w.records.kept)
		}
	})
}

// TestClaimedAttemptEnds: an attempt whose value cannot be stored ends soon after the time of its tool, and
// then frees its room for other calls.
func TestClaimedAttemptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := claimedWorld(t, func(context.Context, in, toolspec.Call) (any, error) {
			return out{Text: strings.Repeat("x", 2*toolspec.MaxInline)}, nil
		})
		w.records.saveHangs = true
		in := w.executeIn()
		began := time.Now()
		got, err := w.Execute(t.Context(), in)
		if err != nil || got.Outcome != contract.Interrupted || got.Failure.Code != contract.CauseUnsaved || len(w.records.kept) != 0 {
			t.Errorf("got %+v, %v, and kept %+v", got, err, w.records.kept)
		}
		if took, want := time.Since(began), time.Duration(in.MaxRuntimeMs)*time.Millisecond+10*time.Second; took != want {
			t.Errorf("the attempt took %s, want %s", took, want)
		}
	})
}

// TestClaimedAttemptNeedsAPermit: an attempt in the claimed lane needs a permit, and a kept answer is used only
// with the permit of its attempt.
func TestClaimedAttemptNeedsAPermit(t *testing.T) {
	w := claimedWorld(t, nil)
	in := w.executeIn()
	in.Permit = json.RawMessage(`{}`)
	if got, err := w.Execute(t.Context(), in); err != nil || got.Outcome != contract.Unpermitted || w.runs != 0 || len(w.records.claims) != 0 {
		t.Errorf("got %+v, %v after %d runs", got, err, w.runs)
	}
	subjects := map[string]string{}
	for name, change := range map[string]func(*contract.ExecuteIn){
		"the call":     func(*contract.ExecuteIn) {},
		"other args":   func(in *contract.ExecuteIn) { in.Facts.Args = json.RawMessage(`{"text":"other"}`) },
		"other tenant": func(in *contract.ExecuteIn) { in.Facts.Context.TenantID = "globex" },
		"other terms":  func(in *contract.ExecuteIn) { in.MaxResultBytes = 1000 },
	} {
		w := claimedWorld(t, nil)
		in := w.executeIn()
		change(&in)
		if _, err := w.Execute(t.Context(), in); err != nil || len(w.records.claims) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, w.records.claims)
		}
		subject := w.records.claims[0].Subject
		if other, twice := subjects[subject]; twice {
			t.Errorf("%s has the subject of %s", name, other)
		}
		subjects[subject] = name
	}
	again := claimedWorld(t, nil)
	in = again.executeIn()
	in.Dispatch, in.Epoch, in.Facts.Attempt = 7, 8, 2
	if _, err := again.Execute(t.Context(), in); err != nil || subjects[again.records.claims[0].Subject] != "the call" {
		t.Errorf("a later execution has another subject: %v, %+v", err, again.records.claims)
	}
}

// TestClaimedLaneOfATenant: the claimed lane shares the room of the local lane.
func TestClaimedLaneOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{
			config: activities.Config{LocalTools: 1},
			run:    func(context.Context, in, toolspec.Call) (any, error) { pass(2 * time.Second); return out{}, nil },
		})
		w.claimsLocally = true
		var e executions
		e.run(t, w, w.executeIn(), 2)
		if got := e.texts(); !reflect.DeepEqual(got, []string{"undispatched 100ms", "done 2s"}) {
			t.Errorf("%v", got)
		}
	})
}

// earlierPause returns the time from the first look at an earlier claim to the look with this number.
func earlierPause(look int) time.Duration {
	pause := time.Duration(0)
	for range look - 1 {
		pause += 250 * time.Millisecond
	}
	return pause
}
