package activities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// Grant is an approval that holds for later calls of a tool.
type Grant struct {
	ID string
	// Granted is what the call must still be.
	Granted hook.GrantedApproval
	// ArgsDigest is that of all arguments, Match some members of them; neither is any.
	ArgsDigest string
	Match      []toolspec.ArgMatch
	// ActorID and SessionID are empty where any does.
	ActorID, SessionID string
	Approver           string
}

// GrantRow is a Grant to write, with the approval that it comes from.
type GrantRow struct {
	Grant
	For time.Duration
}

// remembered returns what an approval leaves behind, or why it leaves nothing. The
// tool, its effect and risk, and who may decide are those of the request.
func remembered(open OpenRequest, f remembering, d toolspec.Decision) (*GrantRow, string) {
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
	case f.args == nil:
		return nil, "for this call only: an answer to another question is not remembered"
	case (scope.Args == toolspec.Any || scope.Args == toolspec.Match) && !rule.RememberAnyArgs:
		return nil, "for this call only: policy remembers approvals for the same arguments only"
	case scope.Actor == toolspec.Any && !rule.RememberAnyActor:
		return nil, "for this call only: policy remembers approvals for the same actor only"
	case scope.Session == toolspec.Same && f.sessionID == "":
		return nil, "for this call only: the call has no session"
	case scope.Args == toolspec.Match && !matches(f.args, scope.Match):
		// Whoever reads it later would take it for what was approved.
		return nil, "for this call only: the approved arguments do not match the scope"
	}
	if d := time.Duration(scope.ForMs) * time.Millisecond; d > 0 {
		life = min(life, d)
	}
	row := &GrantRow{For: life, Grant: Grant{Granted: open.Granted, Match: scope.Match, Approver: d.Approver}}
	if scope.Args == "" || scope.Args == toolspec.Exact {
		digest, err := schema.Digest(f.args)
		if err != nil {
			return nil, "for this call only: the arguments have no digest"
		}
		row.ArgsDigest = digest
	}
	if scope.Actor != toolspec.Any {
		row.ActorID = open.RequestedBy
	}
	if scope.Session == toolspec.Same {
		row.SessionID = f.sessionID
	}
	return row, fmt.Sprintf("remembered for %s", life)
}

// remembering is what of a call is remembered beside its request.
type remembering struct {
	args      json.RawMessage
	sessionID string
}

// covering returns the first grant that covers the call, or nil. Whoever must not
// approve the call is no approver of it by an earlier word either.
func covering(grants []Grant, f hook.Facts, editedBy string, now hook.GrantedApproval, rule policy.ApprovalRule) *Grant {
	digest, err := schema.Digest(f.Args)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(grants, func(g Grant) bool {
		g.Granted.ApprovalID, g.Granted.Approver, g.Granted.Digest = "", "", ""
		now.ApprovalID, now.Approver, now.Digest = "", "", ""
		switch {
		case g.Granted != now,
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

// matches reports whether every named member is there, is text and matches.
func matches(args json.RawMessage, want []toolspec.ArgMatch) bool {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var document any
	if dec.Decode(&document) != nil {
		return false
	}
	for _, m := range want {
		text, ok := member(document, m.Pointer).(string)
		if !ok || !policy.Pattern(m.Pattern).Matches(text) || escapes(m.Pattern, text) {
			return false
		}
	}
	return true
}

// escapes reports whether a text leaves by way of .. what a prefix of a path allows.
func escapes(pattern, text string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return open && slices.Contains(strings.FieldsFunc(strings.TrimPrefix(text, prefix), func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// member is what a pointer names, or nil.
func member(document any, pointer string) any {
	for token := range jsontext.Pointer(pointer).Tokens() {
		object, ok := document.(map[string]any)
		if !ok {
			return nil // elements of lists are not named: their place means nothing
		}
		document = object[token]
	}
	return document
}
