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

// FuzzDecision: whatever arrives as a decision is decoded and judged without a panic, and one that passes the check is within its bounds,
// of its form, and the same once written and read again.
func FuzzDecision(f *testing.F) {
	id := invocation().Identity().InvocationID()
	for _, seed := range []string{
		`{"approvalId":"` + id + `.1","decision":"approve","approver":"user:bob","reason":"fine","proof":"x.y.z"}`,
		`{"approvalId":"` + id + `.2","decision":"edit","approver":"user:bob","editedArgs":{"a":[1,null,"\u0000"]}}`,
		`{"approvalId":"` + id + `.1","decision":"approve","approver":"a","remember":true,"scope":{"args":"match","match":[{"pointer":"/a","pattern":"b*"}],"forMs":1}}`,
		`{"approvalId":null,"decision":1}`, `[]`, `{}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d toolspec.Decision
		if json.Unmarshal(data, &d) != nil || d.Check() != nil {
			return
		}
		if _, number, ok := strings.Cut(d.ApprovalID, "."); !ok || number == "" || number[0] == '0' || d.Approver == "" {
			t.Errorf("accepted %+v", d)
		}
		if len(d.EditedArgs)+len(d.Proof)+len(d.Reason)+len(d.Approver) > 2*toolspec.MaxDecision || (d.Decision == toolspec.Edit) != (len(d.EditedArgs) > 0) && string(d.EditedArgs) != "null" {
			t.Errorf("accepted %d bytes of %s", len(data), d.Decision)
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again toolspec.Decision
		if err := json.Unmarshal(written, &again); err != nil || again.Check() != nil || again.ApprovalID != d.ApprovalID || again.Approver != d.Approver {
			t.Errorf("read again it is %+v, %v", again, err)
		}
	})
}
