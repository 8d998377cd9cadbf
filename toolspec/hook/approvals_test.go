package hook_test

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func asking(a *hook.Approvals) func(*hook.Consent) error {
	return func(v *hook.Consent) error { return v.RequireApproval(hook.Ask{Message: "why", Approvals: a}) }
}

// TestApprovalsAreChecked: approvals of a hook that are not valid in a policy are an error of the hook, and so end the call.
func TestApprovalsAreChecked(t *testing.T) {
	many := make([]string, hook.MaxApprovers+1)
	for i := range many {
		many[i] = fmt.Sprintf("user:%d", i)
	}
	for _, tc := range []struct {
		name      string
		approvals hook.Approvals
		misuse    string // empty if the approvals are valid
	}{
		{"a person", hook.Approvals{Approvers: []string{"user:ann"}}, ""},
		{"two of a role", hook.Approvals{Approvers: []string{"role:finance"}, Quorum: 2, ExpiresAfter: 4 * time.Hour}, ""},
		{"anyone", hook.Approvals{Approvers: []string{"*"}, Quorum: 2}, ""},
		{"a chain", hook.Approvals{Chain: []hook.ChainEntry{{Name: "lead", Approvers: []string{"role:lead"}}, {Approvers: []string{"user:*"}, Quorum: 16}}}, ""},
		{"a lifetime only", hook.Approvals{ExpiresAfter: time.Minute}, ""},
		{"nothing", hook.Approvals{}, "approvals: they are empty; name approvers"},
		{"an empty list", hook.Approvals{Approvers: []string{}}, `approvals: a set of approvers is empty; name them, or "*" for anyone`},
		{"an empty list and a lifetime", hook.Approvals{Approvers: []string{}, ExpiresAfter: time.Minute}, "approvals: a set of approvers is empty"},
		{"a quorum of nobody", hook.Approvals{Quorum: 2}, "approvals: a set of approvers is empty"},
		{"an empty chain", hook.Approvals{Chain: []hook.ChainEntry{}, ExpiresAfter: time.Minute}, "approvals: the chain is empty"},
		{"an entry of nobody", hook.Approvals{Chain: []hook.ChainEntry{{Approvers: []string{"user:ann"}}, {}}}, "approvals: a set of approvers is empty"},
		{"a chain beside approvers", hook.Approvals{Approvers: []string{"user:ann"}, Chain: []hook.ChainEntry{{Approvers: []string{"user:ann"}}}}, "approvals: a chain replaces"},
		{"too long a chain", hook.Approvals{Chain: slices.Repeat([]hook.ChainEntry{{Approvers: []string{"user:ann"}}}, hook.MaxChain+1)}, "approvals: the chain has more than 8 entries"},
		{"too many", hook.Approvals{Approvers: many}, "approvals: a set has more than 256 approvers"},
		{"an empty name", hook.Approvals{Approvers: []string{"user:ann", ""}}, "approvals: the name of an approver"},
		{"a star inside", hook.Approvals{Approvers: []string{"us*er"}}, "approvals: in the name of an approver, * may stand only at the end"},
		{"two stars", hook.Approvals{Approvers: []string{"user:**"}}, "approvals: in the name of an approver, * may stand only at the end"},
		{"no role", hook.Approvals{Approvers: []string{"role:"}}, "approvals: a role is named exactly, such as role:security"},
		{"every role", hook.Approvals{Approvers: []string{"role:*"}}, "approvals: a role is named exactly, such as role:security"},
		{"what nobody sees", hook.Approvals{Approvers: []string{"user:ann\u200b"}}, "approvals: the name of an approver"},
		{"a space at the end", hook.Approvals{Approvers: []string{"user:ann "}}, "approvals: the name of an approver"},
		{"a secret", hook.Approvals{Approvers: []string{"ghp_0123456789abcdefghijABCDEFGHIJ012345"}}, "approvals: the name of an approver has the shape of a secret"},
		{"a negative quorum", hook.Approvals{Approvers: []string{"*"}, Quorum: -1}, "approvals: a quorum is at most 16"},
		{"too high a quorum", hook.Approvals{Approvers: []string{"*"}, Quorum: 17}, "approvals: a quorum is at most 16"},
		{"more than there are", hook.Approvals{Approvers: []string{"user:ann", "user:ann"}, Quorum: 2}, "approvals: a quorum asks for 2 approvals and names 1 people"},
		{"too short a time", hook.Approvals{Approvers: []string{"*"}, ExpiresAfter: time.Millisecond}, "approvals: ExpiresAfter must be whole seconds from 1s to 30d"},
		{"too long a time", hook.Approvals{Approvers: []string{"*"}, ExpiresAfter: 31 * 24 * time.Hour}, "approvals: ExpiresAfter must be whole seconds from 1s to 30d"},
		{"less than no time", hook.Approvals{Approvers: []string{"*"}, ExpiresAfter: -time.Second}, "approvals: ExpiresAfter must be whole seconds from 1s to 30d"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, log := registry(t, at("h", hook.WillCheckConsent, asking(&tc.approvals), hook.NamesApprovers()))
			v, err := r.Run(t.Context(), hook.StageInput{Stage: "willCheckConsent", Hooks: []string{"h"}, Facts: facts()}, hook.Delta{})
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.misuse == "":
				if v.Outcome != hook.Asked || !reflect.DeepEqual(*v.Ask.Approvals, tc.approvals) || v.Ask.Hook != "h" {
					t.Errorf("got %+v, log %s", v, log)
				}
			case v.Outcome != hook.Failed || v.Ask != nil || v.Failure.Code != "internal" || v.Failure.SafeMessage != "hook h failed at willCheckConsent":
				t.Errorf("got %+v", v)
			case !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), tc.misuse):
				t.Errorf("the log lacks %q: %s", tc.misuse, log)
			}
		})
	}
}

// TestWhoMayNameApprovers: a hook that names approvers must be made with NamesApprovers, because the plan of the call lists the hooks to
// ask.
func TestWhoMayNameApprovers(t *testing.T) {
	r, log := registry(t, at("h", hook.WillCheckConsent, asking(&hook.Approvals{Approvers: []string{"user:ann"}})))
	v, err := r.Run(t.Context(), hook.StageInput{Stage: "willCheckConsent", Hooks: []string{"h"}, Facts: facts()}, hook.Delta{})
	if err != nil || v.Outcome != hook.Failed || v.Failure.Code != "internal" || !strings.Contains(log.String(), "make it with hook.NamesApprovers()") {
		t.Errorf("got %+v, %v, log %s", v, err, log)
	}
	nothing := func(*hook.Consent) error { return nil }
	for want, h := range map[string]hook.Hook{
		"is durable": at("h", hook.WillCheckConsent, nothing, hook.NamesApprovers(), hook.Durable(time.Minute)),
		"has no function at willCheckConsent": at("h", hook.WillAuthorize, func(*hook.Gate) error { return nil },
			hook.NamesApprovers()),
	} {
		if _, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{h}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// TestPlanNamesApproverHooks: the plan lists the hooks to ask before a request, at willCheckConsent
// only.
func TestPlanNamesApproverHooks(t *testing.T) {
	nothing := func(*hook.Consent) error { return nil }
	plain := at("plain", hook.WillCheckConsent, nothing)
	for _, tc := range []struct {
		hooks []hook.Hook
		want  []string
	}{
		{[]hook.Hook{plain}, nil},
		{[]hook.Hook{plain, at("amounts", hook.WillCheckConsent, nothing, hook.NamesApprovers())}, []string{"plain", "amounts"}},
		{[]hook.Hook{at("slow", hook.WillCheckConsent, nothing, hook.Durable(time.Minute)), at("amounts", hook.WillCheckConsent, nothing, hook.NamesApprovers())}, []string{"amounts"}},
	} {
		r, _ := registry(t, tc.hooks...)
		for _, step := range r.Steps(hook.Pre(), "core__a", func(hook.Stage) bool { return true }) {
			if want := tc.want; step.Stage != "willCheckConsent" && step.ApproverHooks != nil || step.Stage == "willCheckConsent" && !slices.Equal(step.ApproverHooks, want) {
				t.Errorf("%s asks %v, want %v", step.Stage, step.ApproverHooks, want)
			}
		}
	}
}

// TestAskApproverHooks: every approver hook runs. A failure ends the call before a person is asked. A response of a hook counts only after the
// call is approved.
func TestAskApproverHooks(t *testing.T) {
	ann := &hook.Approvals{Approvers: []string{"user:ann"}}
	cfo := &hook.Approvals{Approvers: []string{"user:cfo"}}
	hooks := func(middle func(*hook.Consent) error) []hook.Hook {
		return []hook.Hook{
			at("first", hook.WillCheckConsent, asking(ann), hook.NamesApprovers()),
			at("middle", hook.WillCheckConsent, middle),
			at("last", hook.WillCheckConsent, asking(cfo), hook.NamesApprovers()),
		}
	}
	for _, tc := range []struct {
		name    string
		middle  func(*hook.Consent) error
		asks    []string
		outcome hook.Outcome
	}{
		{"nothing", func(*hook.Consent) error { return nil }, []string{"first", "last"}, hook.Asked},
		{"asks too", func(v *hook.Consent) error { return v.RequireApproval(hook.Ask{}) }, []string{"first", "middle", "last"}, hook.Asked},
		{"responds", func(v *hook.Consent) error { return v.Respond(1) }, []string{"first", "last"}, hook.Asked},
		{"challenges", func(v *hook.Consent) error { return v.RespondChallenge(1) }, []string{"first", "last"}, hook.Asked},
		{"aborts", func(v *hook.Consent) error { return v.Abort("no") }, nil, hook.Failed},
		{"sends away", func(v *hook.Consent) error { return v.RetryAfter(time.Second, "no") }, nil, hook.Failed},
		{"fails", func(*hook.Consent) error { return errors.New(canary) }, nil, hook.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := registry(t, hooks(tc.middle)...)
			in := hook.StageInput{Stage: "willCheckConsent", Part: hook.PartApprovers, Hooks: []string{"first", "middle", "last"}, Facts: facts()}
			v, err := r.Run(t.Context(), in, hook.Delta{})
			var asks []string
			for _, ask := range v.Asks {
				asks = append(asks, ask.Hook)
			}
			if err != nil || v.Outcome != tc.outcome || !slices.Equal(asks, tc.asks) || v.Value != nil || (v.Failure != nil) != (tc.outcome == hook.Failed) {
				t.Errorf("got %+v, %v", v, err)
			}
			if v.Outcome == hook.Asked && (v.Ask.Hook != "first" || v.By != "first") {
				t.Errorf("the first ask is %+v by %s", v.Ask, v.By)
			}
		})
	}
	r, _ := registry(t, hooks(func(*hook.Consent) error { return errs.Transient(errors.New("down")) })...)
	if v, err := r.Run(t.Context(), hook.StageInput{Stage: "willCheckConsent", Part: hook.PartApprovers, Hooks: []string{"first", "middle"}, Facts: facts()}, hook.Delta{}); !errs.IsTransient(err) {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestApprovalsAreCopied: a hook that changes its approvals after RequireApproval changes nothing.
func TestApprovalsAreCopied(t *testing.T) {
	kept := &hook.Approvals{Chain: []hook.ChainEntry{{Approvers: []string{"user:ann"}}}}
	v := run(t, "willCheckConsent", facts(), at("h", hook.WillCheckConsent, asking(kept), hook.NamesApprovers()))
	kept.Chain[0].Approvers[0], kept.ExpiresAfter = "user:eve", time.Second
	kept.Chain = append(kept.Chain, hook.ChainEntry{})
	if got := v.Ask.Approvals; got.Chain[0].Approvers[0] != "user:ann" || got.ExpiresAfter != 0 || len(got.Chain) != 1 {
		t.Errorf("got %+v", got)
	}
	f := facts()
	f.Approval = &hook.GrantedApproval{Approver: "user:ann"}
	run(t, "willCheckConsent", f, at("h", hook.WillCheckConsent, func(v *hook.Consent) error { v.Granted().Approver = "user:eve"; return nil }))
	if f.Approval.Approver != "user:ann" {
		t.Error("the hook has changed its recorded approvals")
	}
}

// TestApprovalsOfAVerdict: the name of an entry must not be a secret, and the names count in the size of a verdict.
func TestApprovalsOfAVerdict(t *testing.T) {
	a := hook.Approvals{Chain: []hook.ChainEntry{{Name: "lead", Approvers: []string{"user:ann"}}}}
	if n := (hook.Verdict{Ask: &hook.Ask{Approvals: &a}}).Size(); n != len("leaduser:ann") {
		t.Errorf("the verdict has %d bytes", n)
	}
	a.Chain[0].Name = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	if a.Check() == nil {
		t.Error("a secret was accepted")
	}
}
