package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Grant is a remembered approval: it is valid for later calls of a tool.
type Grant struct {
	ID string
	// Granted has the approved values. A later call must have the same values.
	Granted hook.GrantedApproval
	// ArgsDigest is the digest of the arguments; if it is set, a later call must have the
	// same arguments. If ArgsDigest and Match are empty, the grant covers any arguments.
	ArgsDigest string
	// Match lists members of the arguments of a later call that must match a pattern.
	Match []toolspec.ArgMatch
	// ActorID limits the grant to an actor, and SessionID to a session. Empty means any.
	ActorID, SessionID string
	Approver           string
}

// GrantRow is a Grant that the store writes. For is how long the grant is valid.
type GrantRow struct {
	Grant
	For time.Duration
}

// newGrant returns the remembered approval that a decision asks for, or nil if policy or the decision does not
// allow it. The text tells the approver for how long the approval is remembered, or why it is not remembered. The
// grant has the tool, the effect, the risk and the rule of the request.
func newGrant(open OpenRequest, call remembering, d toolspec.Decision) (*GrantRow, string) {
	scope, rule := toolspec.Scope{}, open.Rule
	if d.Scope != nil {
		scope = *d.Scope
	}
	life := time.Duration(rule.RememberForMs) * time.Millisecond
	switch {
	case d.Decision != toolspec.Approve:
		return nil, "only an approval is remembered"
	case life == 0:
		return nil, "for this call only: policy lets nobody remember an approval"
	case call.args == nil:
		return nil, "for this call only: an answer to another question is not remembered"
	case (scope.Args == toolspec.Any || scope.Args == toolspec.Match) && !rule.RememberAnyArgs:
		return nil, "for this call only: policy remembers approvals for the same arguments only"
	case scope.Actor == toolspec.Any && !rule.RememberAnyActor:
		return nil, "for this call only: policy remembers approvals for the same actor only"
	case scope.Session == toolspec.Same && call.sessionID == "":
		return nil, "for this call only: the call has no session"
	case scope.Args == toolspec.Match && !matches(call.args, scope.Match):
		// A reader of such a grant would believe that the approved call matches its scope.
		return nil, "for this call only: the approved arguments do not match the scope"
	}
	if asked := time.Duration(scope.ForMs) * time.Millisecond; asked > 0 {
		life = min(life, asked)
	}
	row := &GrantRow{For: life, Grant: Grant{Granted: open.Granted, Match: scope.Match, Approver: d.Approver}}
	if scope.Args == "" || scope.Args == toolspec.Exact {
		digest, err := strictjson.Digest(call.args)
		if err != nil {
			return nil, "for this call only: the arguments have no digest"
		}
		row.ArgsDigest = digest
	}
	if scope.Actor != toolspec.Any {
		row.ActorID = open.RequestedBy
	}
	if scope.Session == toolspec.Same {
		row.SessionID = call.sessionID
	}
	return row, fmt.Sprintf("remembered for %s", life)
}

// remembering holds the values of a call that a remembered approval needs, and that the request for the approval does not have.
type remembering struct {
	// args are the arguments of the call. They are nil for a parked call, because its
	// request does not ask whether the call may run.
	args      json.RawMessage
	sessionID string
}

// findGrant returns the first grant that covers the call, or nil. digest is the digest of the arguments of the
// call, and needed is what an approval of this call would cover. Unless the rule allows self-approval, findGrant
// skips the grants of an approver who may not approve this call: the actor, the subject, or the editor of the
// arguments.
func findGrant(grants []Grant, digest string, f hook.Facts, editedBy string, needed hook.GrantedApproval, rule policy.ApprovalRule) *Grant {
	i := slices.IndexFunc(grants, func(g Grant) bool {
		// These fields differ from call to call: a grant covers more than one call.
		covered, needs := g.Granted, needed
		for _, of := range []*hook.GrantedApproval{&covered, &needs} {
			of.ApprovalID, of.Approver, of.Digest, of.PreviewDigest = "", "", "", ""
			if g.ActorID == "" { // a grant for any actor is for any subject
				of.SubjectID = ""
			}
		}
		// The current rule must still allow a grant for any arguments or any actor.
		switch {
		case needs.Asked == "", // the grant may be of an older worker, which recorded no rule
			covered != needs,
			g.ArgsDigest != "" && g.ArgsDigest != digest,
			len(g.Match) > 0 && !matches(f.Args, g.Match),
			g.ArgsDigest == "" && !rule.RememberAnyArgs,
			g.ActorID != "" && g.ActorID != f.Context.ActorID,
			g.ActorID == "" && !rule.RememberAnyActor,
			g.SessionID != "" && g.SessionID != f.Context.SessionID:
			return false
		}
		self := g.Approver == f.Context.ActorID || g.Approver == f.Context.SubjectID || g.Approver == editedBy
		return rule.AllowSelfApproval || !self
	})
	if i < 0 {
		return nil
	}
	return &grants[i]
}

// matches reports whether every member in want is present in args, is text, matches its
// pattern and does not escape from it.
func matches(args json.RawMessage, want []toolspec.ArgMatch) bool {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var decoded any
	if dec.Decode(&decoded) != nil {
		return false
	}
	for _, m := range want {
		text, ok := member(decoded, m.Pointer).(string)
		if !ok || !document.Pattern(m.Pattern).Matches(text) || escapes(m.Pattern, text) {
			return false
		}
	}
	return true
}

// encodedParts are the characters that separate and name path elements, in percent-encoding. A server that decodes several times also
// decodes %252e.
var encodedParts = regexp.MustCompile(`(?i)%(?:25)*(2e|2f|5c)`)

// escapes reports whether text has a path element ".." that does not end within the prefix of the pattern. With
// "..", a file path or a URL can leave the directory that the prefix names. Such an element may begin in the
// prefix: the prefix of "notes/.*" is a part of "notes/../x". Some servers cut off a ; and what follows before they
// read an element, a URL ends its path at ? and #, and the URL Standard of the WHATWG removes tabs, line ends and outer spaces
// before it reads a path. A pattern without * matches only the same text, so escapes returns false.
func escapes(pattern, text string) bool {
	prefix, isPrefix := strings.CutSuffix(pattern, "*")
	if !isPrefix {
		return false
	}
	decode := func(s string) string {
		return encodedParts.ReplaceAllStringFunc(s, func(part string) string {
			return map[string]string{"2e": ".", "2f": "/", "5c": `\`}[strings.ToLower(part[len(part)-2:])]
		})
	}
	within := strings.LastIndexAny(prefix, `/\`) + 1 // the elements that end within the prefix
	rest := strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.TrimPrefix(text, prefix[:within]))
	elements := strings.FieldsFunc(decode(rest), func(r rune) bool { return r == '/' || r == '\\' })
	return slices.ContainsFunc(elements, func(element string) bool {
		if end := strings.IndexAny(element, ";?#"); end >= 0 {
			element = element[:end]
		}
		return strings.TrimFunc(element, func(r rune) bool { return r <= ' ' }) == ".."
	})
}

// member returns the value that a JSON pointer names, or nil.
func member(document any, pointer string) any {
	for token := range jsontext.Pointer(pointer).Tokens() {
		object, ok := document.(map[string]any)
		if !ok {
			return nil // the pointer of a match names members of objects, and no elements of lists
		}
		document = object[token]
	}
	return document
}
