package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

func besides(t *testing.T, rule ApprovalRule, hooks ...HookEntries) ApprovalRule {
	t.Helper()
	rule, err := rule.Besides(hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// of is the people of a hook.
func of(hook string, entries ...ChainEntry) HookEntries {
	return HookEntries{Hook: hook, Entries: entries}
}

// TestApproveBesides plays approvals of a request for which hooks ask for people too.
func TestApproveBesides(t *testing.T) {
	signed := func(id string, roles ...string) Voter { return Voter{Identity: id, Signed: true, Roles: roles} }
	entry := func(quorum int, who ...document.Pattern) ChainEntry {
		return ChainEntry{Approvers: who, Quorum: quorum}
	}
	anyone, finance := ApprovalRule{Enabled: true}, ApprovalRule{Enabled: true, Approvers: []document.Pattern{"role:finance"}}
	chain := ApprovalRule{Enabled: true, Chain: []ChainEntry{entry(1, "role:lead"), entry(1, "user:cfo")}}
	cfo, two := of("cfo", entry(1, "user:cfo")), of("two", entry(2, "role:finance"))
	const again = "this approver has approved already; another person has to"
	for _, tc := range []struct {
		name   string
		rule   ApprovalRule
		voters []Voter
		want   string // what each hears
	}{
		{"anyone does not use up the only person", besides(t, anyone, cfo), []Voter{signed("user:bob"), signed("user:cfo")}, "waits for user:cfo|final"},
		{"the only person is of policy too", besides(t, anyone, cfo), []Voter{signed("user:cfo")}, "final"},
		{"two for anyone", besides(t, anyone, two), []Voter{signed("user:a", "finance"), signed("user:b", "finance")}, "1 of 2|final"},
		{"the same role", besides(t, finance, two), []Voter{signed("user:a", "finance"), signed("user:b", "finance")}, "1 of 2|final"},
		{"one person twice", besides(t, finance, two), []Voter{signed("user:a", "finance"), signed("user:a", "finance")}, "1 of 2|" + again},
		{"policy's people are not enough", besides(t, finance, cfo), []Voter{signed("user:a", "finance"), signed("user:b", "finance")}, "waits for user:cfo|not this approver's turn; the request waits for user:cfo"},
		{"the hook's people are not enough", besides(t, finance, cfo), []Voter{signed("user:cfo"), signed("user:a", "finance")}, "waits for role:finance|final"},
		{"the hook's person has policy's role", besides(t, finance, cfo), []Voter{signed("user:cfo", "finance")}, "final"},
		{"whom nobody names", besides(t, finance, cfo), []Voter{signed("user:eve")}, "policy does not name this approver"},
		{"policy's quorum stays", besides(t, ApprovalRule{Enabled: true, Quorum: 2}, cfo), []Voter{signed("user:cfo"), signed("user:a")}, "1 of 2|final"},
		{"two hooks name one person", besides(t, anyone, cfo, of("other", entry(1, "user:cfo"))), []Voter{signed("user:cfo")}, "final"},
		{"two hooks", besides(t, anyone, cfo, of("law", entry(1, "role:law"))), []Voter{signed("user:cfo"), signed("user:l", "law")}, "waits for role:law|final"},
		{"two hooks, the other way", besides(t, anyone, cfo, of("law", entry(1, "role:law"))), []Voter{signed("user:l", "law"), signed("user:cfo")}, "waits for user:cfo|final"},
		// A person approves once, so nobody is taken whose turn comes later.
		{"a later turn of policy", besides(t, chain, cfo), []Voter{signed("user:cfo"), signed("user:l", "lead"), signed("user:cfo")}, "turn; the request waits for role:lead|waits for user:cfo|final"},
		{"a later turn of the hook", besides(t, anyone, of("h", entry(1, "user:a"), entry(1, "user:cfo"))), []Voter{signed("user:cfo"), signed("user:a"), signed("user:cfo")}, "turn; the request waits for user:a|waits for user:cfo|final"},
		{"a later turn of the second hook", besides(t, anyone, of("g", entry(1, "user:b")), of("h", entry(1, "user:a"), entry(1, "user:b"))), []Voter{signed("user:b"), signed("user:a"), signed("user:b")}, "turn; the request waits for user:a|waits for user:b|final"},
		{"the requester", besides(t, anyone, of("h", entry(1, "user:ann"))), []Voter{signed("user:ann")}, "policy does not let the requester decide on the own call"},
		{"without a proof", besides(t, anyone, cfo), []Voter{{Identity: "user:cfo"}}, "policy counts only signed decisions"},
		{"approvals are off", besides(t, ApprovalRule{}, cfo), []Voter{signed("user:cfo")}, "approvals are off for this tenant"},
		{"too late", besides(t, anyone, cfo), []Voter{signed("user:cfo"), signed("user:bob")}, "final|nobody else has to approve"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var votes []Vote
			want := strings.Split(tc.want, "|")
			for i, v := range tc.voters {
				r := tc.rule.Approve(v, votes, "user:ann")
				got := r.Reason
				if r.Final {
					got = "final"
				}
				if r.Counted {
					votes = append(votes, Vote{Entry: r.Entry, HookEntries: r.HookEntries, Approver: v.Identity})
				}
				if !strings.Contains(got, want[i]) || r.Final && !r.Counted || r.Final != (len(tc.rule.Missing(votes)) == 0 && r.Counted) {
					t.Errorf("%s hears %q, want %q; missing %v", v.Identity, got, want[i], tc.rule.Missing(votes))
				}
			}
		})
	}
}

// TestBesidesIsStricter: whatever the votes, a request that is approved with hooks is approved without them, and each hook's people alone are
// enough for that hook. No hook makes the last approval come earlier.
func TestBesidesIsStricter(t *testing.T) {
	people := []Voter{
		{Identity: "user:a", Signed: true, Roles: []string{"x"}}, {Identity: "user:b", Signed: true, Roles: []string{"x", "y"}},
		{Identity: "user:c", Signed: true, Roles: []string{"y"}}, {Identity: "user:d", Signed: true},
	}
	sets := [][]document.Pattern{{"role:x"}, {"role:y"}, {"user:b"}, {"user:*"}, {"user:c", "user:d"}}
	rules := []ApprovalRule{{Enabled: true}, {Enabled: true, Quorum: 2}}
	for _, s := range sets {
		rules = append(rules, ApprovalRule{Enabled: true, Approvers: s}, ApprovalRule{Enabled: true, Chain: []ChainEntry{{Approvers: s}, {}}})
	}
	finals := func(rule ApprovalRule, order []int) (at int, used []Voter) {
		var votes []Vote
		for n, i := range order {
			r := rule.Approve(people[i], votes, "user:ann")
			if r.Counted {
				votes, used = append(votes, Vote{Entry: r.Entry, HookEntries: r.HookEntries, Approver: people[i].Identity}), append(used, people[i])
			}
			if r.Final {
				return n, used
			}
		}
		return -1, used
	}
	approved := 0
	for _, rule := range rules {
		for _, s := range sets {
			for quorum := range 3 {
				hook := ChainEntry{Approvers: s, Quorum: quorum}
				with := besides(t, rule, of("h", hook))
				for order := range orders(len(people)) {
					at, used := finals(with, order)
					if at < 0 {
						continue
					}
					approved++
					if alone, _ := finals(rule, order); alone < 0 || alone > at {
						t.Fatalf("%+v with %+v is final at %d in order %v, and %d without the hook", rule, hook, at, order, alone)
					}
					if n := len(slices.DeleteFunc(slices.Clone(used), func(v Voter) bool { return !hook.has(v) })); n < hook.quorum() {
						t.Fatalf("%+v: %d of the hook's people approved", hook, n)
					}
				}
			}
		}
	}
	if approved == 0 {
		t.Error("nothing was approved")
	}
}

// orders yields the permutations of 0 to n-1.
func orders(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		var walk func(done []int) bool
		walk = func(done []int) bool {
			if len(done) == n {
				return yield(done)
			}
			for i := range n {
				if !slices.Contains(done, i) && !walk(append(slices.Clip(done), i)) {
					return false
				}
			}
			return true
		}
		walk(nil)
	}
}

// TestBesidesKeepsPolicy: hooks add, and change nothing that policy says.
func TestBesidesKeepsPolicy(t *testing.T) {
	rule := ApprovalRule{
		Enabled: true, ExpiresAfterMs: 60_000, Approvers: []document.Pattern{"role:lead"}, Quorum: 2, RememberForMs: 5, RememberAnyArgs: true, RememberAnyActor: true,
		RemindAfterMs: 7, ParkUnknownMs: 8, Escalate: []Escalation{{AfterMs: 9, Approvers: []document.Pattern{"user:chief"}}},
	}
	if same, err := rule.Besides(); err != nil || same.Digest() != rule.Digest() || same.RememberForMs != 5 {
		t.Errorf("without hooks: %+v, %v", same, err)
	}
	entries := []ChainEntry{{Approvers: []document.Pattern{"user:cfo"}}}
	got := besides(t, rule, of("h", entries...))
	entries[0].Approvers[0] = "user:eve"
	if got.Describe("user:ann") != "2 of role:lead, but not the requester user:ann; after 9ms also user:chief; hook h asks for user:cfo; only signed decisions count" {
		t.Errorf("got %q", got.Describe("user:ann"))
	}
	if got.RememberForMs != 0 || got.RememberAnyArgs || got.RememberAnyActor {
		t.Error("an approval of other people could be remembered")
	}
	bare := got
	bare.Hooks, bare.RememberForMs, bare.RememberAnyArgs, bare.RememberAnyActor = nil, 5, true, true
	if fmt.Sprintf("%+v", bare) != fmt.Sprintf("%+v", rule) || got.Digest() == rule.Digest() {
		t.Errorf("got %+v", got)
	}
	// An escalation lets somebody take an entry of policy, and none of a hook.
	chief := Voter{Identity: "user:chief", Signed: true}
	if r := got.At(time.Second).Approve(chief, nil, "user:ann"); !r.Counted || r.Final || !slices.Equal(r.HookEntries, []int{NoEntry}) {
		t.Errorf("the chief: %+v", r)
	}
	if got.ExpiresWithin(time.Hour).ExpiresAfter() != time.Minute || got.ExpiresWithin(time.Second).ExpiresAfter() != time.Second {
		t.Error("the shorter lifetime does not count")
	}
	if !besides(t, ApprovalRule{Enabled: true}, of("h", ChainEntry{Approvers: []document.Pattern{"role:x"}})).NeedsRoles() {
		t.Error("the roles of an approver are not read")
	}
	for _, bad := range []HookEntries{of("h"), of("h", ChainEntry{}), of("h", entries[0], ChainEntry{Quorum: 2})} {
		if got, err := rule.Besides(bad); err == nil || got.Enabled {
			t.Errorf("%+v became %+v", bad, got)
		}
	}
}
