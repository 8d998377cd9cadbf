package authz_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/authz"
)

func TestRelationCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		r    authz.Relation
		want string // part of the message; empty for none
	}{
		{authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "role:ops"}, ""},
		{authz.Relation{Kind: authz.Member, Subject: "group:a", Object: "group:b"}, ""},
		{authz.Relation{Kind: authz.Member, Subject: "group:a", Object: "group:a"}, "cannot be a member of itself"},
		{authz.Relation{Kind: authz.Member, Subject: "role:a", Object: "role:b"}, "the member must be"},
		{authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "ops"}, "must be of the form group:NAME, role:NAME"},
		{authz.Relation{Kind: authz.Member, Subject: "user:ann  member", Object: "role:ops"}, "must be of the form user:NAME"},
		{authz.Relation{Kind: authz.Member, Subject: "user:ann\u3164", Object: "role:ops"}, "must be of the form user:NAME"},
		{authz.Relation{Kind: authz.Member, Subject: "user:", Object: "role:ops"}, "the member must be"},
		{authz.Relation{Kind: authz.Member, Subject: "user:a\nb", Object: "role:ops"}, "the member must be"},
		{authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "role:ops", Tools: "*"}, "limited to no tools"},
		{authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "role:ops", GraphID: "g"}, "limited to no tools and no graph"},
		{authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "core__*", GraphID: "g"}, ""},
		{authz.Relation{Kind: authz.Executes, Subject: "service:x", Tools: "core__read"}, ""},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x", Tools: "*"}, ""},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x"}, "neither a tool's id"},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x", Tools: "c*re__*"}, "neither a tool's id"},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x", Tools: "read"}, "neither a tool's id"},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x", Tools: "*", Object: "user:a"}, "no object"},
		{authz.Relation{Kind: authz.Executes, Subject: "agent:x", Tools: "*", GraphID: strings.Repeat("g", 201)}, "a graph's id"},
		{authz.Relation{Kind: authz.Delegates, Subject: "agent:x", Object: "user:sue", Tools: "core__*"}, ""},
		{authz.Relation{Kind: authz.Delegates, Subject: "role:x", Object: "user:sue", Tools: "core__*"}, "the actor of a delegation"},
		{authz.Relation{Kind: authz.Delegates, Subject: "agent:x", Object: "group:sue", Tools: "core__*"}, "who delegates"},
		{authz.Relation{Kind: "owns", Subject: "agent:x"}, "is no relation"},
	} {
		err := tc.r.Check()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.r, err, tc.want)
		}
	}
}
