package toolspec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func TestDecisionCheck(t *testing.T) {
	inv := invocation().Identity().InvocationID()
	approve := toolspec.Decision{ApprovalID: inv + ".1", Decision: toolspec.Approve, Approver: "user:bob"}
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Decision)
		want   string
	}{
		{"approve", func(*toolspec.Decision) {}, ""},
		{"deny", func(d *toolspec.Decision) { d.Decision = toolspec.Deny }, ""},
		{"withdraw", func(d *toolspec.Decision) { d.Decision = toolspec.Withdraw }, ""},
		{"retry", func(d *toolspec.Decision) { d.Decision = toolspec.Retry }, ""},
		{"settle_ok", func(d *toolspec.Decision) { d.Decision = toolspec.SettleOK }, ""},
		{"settle_failed", func(d *toolspec.Decision) { d.Decision = toolspec.SettleFailed }, ""},
		{"edit", func(d *toolspec.Decision) { d.Decision, d.EditedArgs = toolspec.Edit, []byte(`{}`) }, ""},
		{"empty", func(d *toolspec.Decision) { *d = toolspec.Decision{} }, "approvalId is not of the form"},
		{"another id", func(d *toolspec.Decision) { d.ApprovalID = "1" }, "approvalId is not of the form"},
		{"no verb", func(d *toolspec.Decision) { d.Decision = "" }, "decision must be"},
		{"another verb", func(d *toolspec.Decision) { d.Decision = "Approve" }, "decision must be"},
		{"no approver", func(d *toolspec.Decision) { d.Approver = "" }, "approver is missing"},
		{"long approver", func(d *toolspec.Decision) { d.Approver = strings.Repeat("b", 201) }, "approver must be at most 200"},
		{"approver with a line end", func(d *toolspec.Decision) { d.Approver = "a\nb" }, "approver may hold only printable"},
		{"longest reason", func(d *toolspec.Decision) { d.Reason = strings.Repeat("r", 2000) }, ""},
		{"long reason", func(d *toolspec.Decision) { d.Reason = strings.Repeat("r", 2001) }, "reason is longer than 2000"},
		{"edit without args", func(d *toolspec.Decision) { d.Decision = toolspec.Edit }, "editedArgs go with"},
		{"edit with null", func(d *toolspec.Decision) { d.Decision, d.EditedArgs = toolspec.Edit, []byte(`null`) }, "editedArgs go with"},
		{"args without edit", func(d *toolspec.Decision) { d.EditedArgs = []byte(`{}`) }, "editedArgs go with"},
		{"null without edit is absence", func(d *toolspec.Decision) { d.EditedArgs = []byte(`null`) }, ""},
		{"credential in the reason", func(d *toolspec.Decision) { d.Reason = "use sk-" + strings.Repeat("a", 20) }, "shape of a credential"},
		{"largest", func(d *toolspec.Decision) { d.Proof = strings.Repeat("p", toolspec.MaxDecision) }, ""},
		{"too large", func(d *toolspec.Decision) { d.Proof = strings.Repeat("p", toolspec.MaxDecision+1) }, "larger than 65536 bytes"},
		{"too large together", func(d *toolspec.Decision) {
			d.Decision, d.EditedArgs, d.Proof = toolspec.Edit, make([]byte, toolspec.MaxDecision), "p"
		}, "larger than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := approve
			tc.change(&d)
			sameError(t, d.Check(), tc.want)
		})
	}
}

// TestDecisionFromOtherLanguages: many write null for what is absent.
func TestDecisionFromOtherLanguages(t *testing.T) {
	var d toolspec.Decision
	text := `{"approvalId":"` + invocation().Identity().InvocationID() + `.1","decision":"approve","approver":"user:bob",` +
		`"reason":null,"editedArgs":null,"remember":null,"proof":null}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	sameError(t, d.Check(), "")
}
