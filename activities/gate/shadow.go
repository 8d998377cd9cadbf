package gate

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// shadowHook names the notes of a shadow policy among those of hooks.
const shadowHook = "shadow"

// undetermined stands for a verdict that needs what is not known yet.
const undetermined = "undetermined"

// ShadowNote is what two policies said of a call at one stage of the gate.
type ShadowNote struct {
	// Live is the verdict of the active policy, Shadow that of the one that is tried
	// out: allow, deny, require_approval or undetermined.
	Live, Shadow string
	// Rule is what decided in the shadow.
	Rule string
}

// ShadowPrefix begins every note of a version.
func ShadowPrefix(digest string) string { return digest[:min(len(digest), 16)] + " " }

func (n ShadowNote) text(digest string) string {
	return fmt.Sprintf("%slive %s, shadow %s: %s", ShadowPrefix(digest), n.Live, n.Shadow, n.Rule)
}

// ParseShadowNote reads a note.
func ParseShadowNote(text string) (note ShadowNote, ok bool) {
	_, rest, found := strings.Cut(text, " live ")
	live, rest, cut := strings.Cut(rest, ", shadow ")
	shadow, rule, whole := strings.Cut(rest, ": ")
	return ShadowNote{Live: live, Shadow: shadow, Rule: rule}, found && cut && whole
}

// compare notes what the policy that is tried out says of a call, beside the decision of
// the active policy on the same facts. It does so once for each call: with the arguments,
// or at willAuthorize if the call ends there. It never changes the verdict.
func (g *gate) compare(f hook.Facts, live policy.Decision, v *hook.Verdict) {
	if g.Shadow == nil || f.Args == nil && v.Outcome != hook.Failed {
		return
	}
	tried := g.Shadow()
	if tried == nil {
		return
	}
	is := tried.Decide(g.facts(f))
	note := ShadowNote{Live: verdictOf(live), Shadow: verdictOf(is), Rule: is.Rule}
	v.Notes = append(v.Notes, hook.Note{Hook: shadowHook, Reason: note.text(tried.Digest())})
}

func verdictOf(d policy.Decision) string {
	if d.Undetermined {
		return undetermined
	}
	return string(d.Verb)
}
