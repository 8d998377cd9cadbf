package gate

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// shadowTime bounds the decision of the shadow policy. It is a part of the time of the stage.
const shadowTime = 500 * time.Millisecond

// compare adds a note to the verdict: the decision of the shadow policy beside the decision of the
// active policy on the same facts. A stage gets one note: willCheckConsent, or willAuthorize
// if the call ends there. compare never changes the outcome, also if the engine of the shadow policy fails, panics or does
// not answer in time.
func (g *gate) compare(ctx context.Context, f hook.Facts, facts policy.Facts, live policy.Decision, v *hook.Verdict) {
	if g.Shadow == nil || f.Args == nil && v.Outcome != hook.Failed {
		return
	}
	shadow := g.Shadow()
	if shadow == nil {
		return
	}
	decision, err := g.decideShadow(ctx, shadow, facts)
	if err != nil {
		g.Log.WarnContext(ctx, "the shadow policy did not judge a call", append(ids(f), "reason", errs.Reason(err))...)
		return
	}
	note := ShadowNote{Live: verdictOf(live), Shadow: verdictOf(decision), Rule: decision.Rule}
	v.Notes = append(v.Notes, hook.Note{Hook: shadowHook, Reason: note.text(shadow.Digest())})
}

// decideShadow returns the decision of the shadow policy. A panic of the engine is an error.
func (g *gate) decideShadow(ctx context.Context, shadow *policy.Policy, facts policy.Facts) (d policy.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked (%T)", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, shadowTime)
	defer cancel()
	return judge.Decide(ctx, g.PolicyEngines, shadow, facts)
}

func verdictOf(d policy.Decision) string {
	if d.Undetermined {
		return undetermined
	}
	return string(d.Verb)
}
