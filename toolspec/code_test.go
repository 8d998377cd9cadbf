package toolspec_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// closedSet is the contract: a code that is not here needs a new version of it.
const closedSet = "invalid_json incomplete validation unavailable policy_denied authz_denied approval_denied approval_expired " +
	"approval_stale conflict rate_limited capacity output_quota needs_reauth execution timeout aborted output_validation redaction_failed " +
	"result_too_large outcome_unknown cancelled internal"

func TestCodeTable(t *testing.T) {
	var names []string
	codes, exits := map[toolspec.Code]bool{}, map[int]toolspec.Code{}
	for _, info := range toolspec.Codes() {
		names = append(names, string(info.Code))
		if codes[info.Code] {
			t.Errorf("%s stands twice", info.Code)
		}
		codes[info.Code] = true
		if other, taken := exits[info.Exit]; taken {
			t.Errorf("%s and %s exit with %d", info.Code, other, info.Exit)
		}
		exits[info.Exit] = info.Code
		if info.Exit < 3 || info.Exit > 125 {
			t.Errorf("%s exits with %d: 1, 2 and from 126 have other meanings", info.Code, info.Exit)
		}
		if info.HTTP < 400 || info.HTTP > 599 {
			t.Errorf("%s answers HTTP %d", info.Code, info.HTTP)
		}
		if info.Message == "" || info.Meaning == "" {
			t.Errorf("%s has no words", info.Code)
		}
		switch info.Kind {
		case toolspec.KindInput, toolspec.KindRefused, toolspec.KindConflict, toolspec.KindBusy,
			toolspec.KindTool, toolspec.KindUnknown, toolspec.KindEnded, toolspec.KindBug:
		default:
			t.Errorf("%s is of kind %q", info.Code, info.Kind)
		}
		// Only the tool itself can do better next time.
		if info.Retryable && info.Kind != toolspec.KindTool {
			t.Errorf("%s is retryable", info.Code)
		}
		if toolspec.InfoOf(info.Code) != info || !info.Code.Known() {
			t.Errorf("%s is not found", info.Code)
		}
	}
	if got := strings.Join(names, " "); got != closedSet {
		t.Errorf("the set is\n%s\nwant\n%s", got, closedSet)
	}
}

func TestUnknownCodeIsInternal(t *testing.T) {
	for _, c := range []toolspec.Code{"", "nope", "Internal"} {
		if info := toolspec.InfoOf(c); info.Code != toolspec.CodeInternal || c.Known() {
			t.Errorf("%q is %+v", c, info)
		}
	}
}

// TestKindsOfCodes: refusals never look like failures of the server.
func TestKindsOfCodes(t *testing.T) {
	for _, info := range toolspec.Codes() {
		client := info.HTTP < 500
		switch info.Kind {
		case toolspec.KindInput, toolspec.KindRefused, toolspec.KindConflict, toolspec.KindEnded:
			if !client {
				t.Errorf("%s (%s) answers %d", info.Code, info.Kind, info.HTTP)
			}
		case toolspec.KindTool, toolspec.KindUnknown, toolspec.KindBug:
			if client {
				t.Errorf("%s (%s) answers %d", info.Code, info.Kind, info.HTTP)
			}
		case toolspec.KindBusy:
		}
	}
}

func TestFailureResult(t *testing.T) {
	r := toolspec.Failure(toolspec.CodeTimeout, "", nil)
	if r.OK || r.ErrorCode != toolspec.CodeTimeout || r.SafeMessage != "The tool timed out" || r.HTTPStatus != 504 {
		t.Errorf("got %+v", r)
	}
	if r = toolspec.Failure("made_up", "own words", &toolspec.Details{Rule: "r"}); r.ErrorCode != toolspec.CodeInternal ||
		r.SafeMessage != "own words" || r.HTTPStatus != 500 || r.Details.Rule != "r" {
		t.Errorf("got %+v", r)
	}
}

func TestEffectAndRisk(t *testing.T) {
	for _, e := range []toolspec.Effect{"read_only", "state_change", "external_side_effect"} {
		if !e.Valid() {
			t.Errorf("%s is not valid", e)
		}
	}
	for _, r := range []toolspec.Risk{"low", "medium", "high"} {
		if !r.Valid() {
			t.Errorf("%s is not valid", r)
		}
	}
	if toolspec.Effect("").Valid() || toolspec.Effect("READ_ONLY").Valid() || toolspec.Risk("").Valid() || toolspec.Risk("none").Valid() {
		t.Error("something else is valid")
	}
}
