package gate

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// shadowHook is the hook name under which the record keeps the notes of a shadow policy.
const shadowHook = "shadow"

// undetermined is in a note in place of a verdict that depends on the arguments, which willAuthorize does not know.
const undetermined = "undetermined"

// ShadowNote has the verdicts of the active policy and of the shadow policy on one call, at one
// stage of the gate.
type ShadowNote struct {
	// Live is the verdict of the active policy, and Shadow is the verdict of the shadow policy.
	// Each is allow, deny, require_approval or undetermined.
	Live, Shadow string
	// Rule is the rule of the shadow policy that decided.
	Rule string
}

// ShadowPrefix returns the text with which every note of a shadow policy begins. It contains the
// first 16 digits of the policy's digest.
func ShadowPrefix(digest string) string { return digest[:min(len(digest), 16)] + " " }

func (n ShadowNote) text(digest string) string {
	return fmt.Sprintf("%slive %s, shadow %s: %s", ShadowPrefix(digest), n.Live, n.Shadow, n.Rule)
}

// ParseShadowNote parses the text of a note. ok is false if the text is not a note of a shadow policy.
func ParseShadowNote(text string) (note ShadowNote, ok bool) {
	_, rest, hasLive := strings.Cut(text, " live ")
	live, rest, hasShadow := strings.Cut(rest, ", shadow ")
	shadow, rule, hasRule := strings.Cut(rest, ": ")
	return ShadowNote{Live: live, Shadow: shadow, Rule: rule}, hasLive && hasShadow && hasRule
}

// compare adds a note to the verdict: the decision of the shadow policy beside the decision of the
// active policy on the same facts. A call gets one note: at willCheckConsent, or at willAuthorize
// if the call ends there. compare never changes the outcome.
func (g *gate) compare(ctx context.Context, f hook.Facts, facts policy.Facts, live policy.Decision, v *hook.Verdict) {
	if g.Shadow == nil || f.Args == nil && v.Outcome != hook.Failed {
		return
	}
	shadow := g.Shadow()
	if shadow == nil {
		return
	}
	decision, err := judge.Decide(ctx, g.PolicyEngines, shadow, facts)
	if err != nil {
		g.Log.WarnContext(ctx, "the shadow policy did not judge a call", append(ids(f), "reason", errs.Reason(err))...)
		return
	}
	note := ShadowNote{Live: verdictOf(live), Shadow: verdictOf(decision), Rule: decision.Rule}
	v.Notes = append(v.Notes, hook.Note{Hook: shadowHook, Reason: note.text(shadow.Digest())})
}

func verdictOf(d policy.Decision) string {
	if d.Undetermined {
		return undetermined
	}
	return string(d.Verb)
}
