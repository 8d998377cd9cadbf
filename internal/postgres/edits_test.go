package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestEditedRequestIsFoundAgain: a later run that applies the same edit finds the request that the edit answered, and does not change the request that
// followed it. A run without the edit opens a new request.
func TestEditedRequestIsFoundAgain(t *testing.T) {
	edited := func(t *testing.T) bench {
		b := open(t)
		b.admit("call_1")
		b.request(requestRow("call_1", 1))
		d := decision("call_1", 1, toolspec.Edit)
		d.EditedArgs = []byte(`{"a":1}`)
		b.review(reviewRow("call_1", 1, 1, d))
		second := requestRow("call_1", 1)
		second.View.Digest, second.EditedBy, second.Last = "edited-digest", "user:bob", 1
		if got := b.request(second); got.Number != 2 {
			t.Fatalf("%+v", got)
		}
		b.admit("call_1")
		return b
	}
	for why, c := range map[string]struct {
		edits  []int
		sql    string
		number int
		state  contract.RequestState
		states string
	}{
		"with the edit": {[]int{1}, "", 1, contract.RequestEdited, "edited open"},
		"with the edit, the next one decided": {[]int{1}, `UPDATE approvals SET state = 'approved', approver = 'user:eve', decided_at = now() WHERE number = 2`,
			1, contract.RequestEdited, "edited approved"},
		"with the edit, the next one overdue": {[]int{1}, `UPDATE approvals SET expires_at = now() WHERE number = 2`, 1, contract.RequestEdited, "edited expired"},
		"without it":                          {nil, "", 3, contract.RequestOpen, "edited closed open"},
		"with an edit of another request":     {[]int{2, 7}, "", 3, contract.RequestOpen, "edited closed open"},
	} {
		t.Run(why, func(t *testing.T) {
			b := edited(t)
			if c.sql != "" {
				b.sql(c.sql)
			}
			row := requestRow("call_1", 2)
			row.Edits, row.Last = c.edits, 2
			if got := b.request(row); got.Number != c.number || got.State != c.state {
				t.Errorf("%+v", got)
			}
			if got := value[string](b, `SELECT string_agg(state, ' ' ORDER BY number) FROM approvals`); got != c.states {
				t.Errorf("the requests are %q, want %q", got, c.states)
			}
		})
	}
	// The edit answers only requests of its call for the arguments and the editor of the request that it answered.
	for why, change := range map[string]func(b bench, row *approval.RequestRow){
		"other arguments": func(_ bench, row *approval.RequestRow) { row.View.Digest, row.Edits = "third-digest", []int{1} },
		"another editor":  func(_ bench, row *approval.RequestRow) { row.EditedBy, row.Edits = "user:eve", []int{1} },
		"a request that was not edited": func(b bench, row *approval.RequestRow) {
			b.sql(`UPDATE approvals SET state = 'closed', approver = NULL, decided_at = NULL WHERE number = 1`)
			row.Edits = []int{1}
		},
		"another call": func(b bench, row *approval.RequestRow) {
			b.admit("call_2")
			b.request(requestRow("call_2", 1))
			b.sql(`DELETE FROM notices`)
			b.sql(`UPDATE approvals SET approval_id = invocation_id || '.7', number = 7, state = 'edited', approver = 'user:bob', decided_at = now() WHERE invocation_id = $1::uuid`, id("call_2"))
			row.Edits = []int{7}
		},
	} {
		b := edited(t)
		row := requestRow("call_1", 2)
		row.Last = 2
		change(b, &row)
		b.request(row)
		if got := value[string](b, `SELECT string_agg(state, ' ' ORDER BY number) FROM approvals WHERE invocation_id = $1::uuid AND number > 1`, id("call_1")); got != "closed open" {
			t.Errorf("%s: the requests are %q", why, got)
		}
	}
	// A request that was opened again goes before an older request that was edited.
	b := edited(t)
	row := requestRow("call_1", 2)
	row.Last = 2
	b.request(row)
	row.Edits = []int{1}
	if got := b.request(row); got.Number != 3 || got.State != contract.RequestOpen {
		t.Errorf("asked again: %+v", got)
	}
}

// TestLateRequest: a late try of an activity closes no request that followed it, and opens none.
func TestLateRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		verb   toolspec.Verb
		next   func(row *approval.RequestRow)
		found  int // the number of the request that the late try finds; 0 if it finds none
		states string
	}{
		"after an edit": {toolspec.Edit, func(row *approval.RequestRow) { row.View.Digest, row.EditedBy = "edited-digest", "user:bob" }, 0, "edited open"},
		"after an approval, the call is parked": {toolspec.Approve, func(row *approval.RequestRow) { row.View.Digest, row.View.Parked = "parked-digest", "lost" },
			1, "approved open"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.admit("call_1")
			row := requestRow("call_1", 1)
			b.request(row)
			d := decision("call_1", 1, tc.verb)
			if tc.verb == toolspec.Edit {
				d.EditedArgs = []byte(`{"a":1}`)
			}
			b.review(reviewRow("call_1", 1, 1, d))
			next := requestRow("call_1", 1)
			next.Last = 1
			tc.next(&next)
			if got := b.request(next); got.Number != 2 || got.State != contract.RequestOpen {
				t.Fatalf("%+v", got)
			}
			if got := b.request(row); got.Number != tc.found || got.Superseded != (tc.found == 0) {
				t.Errorf("the late try got %+v", got)
			}
			if got := value[string](b, `SELECT string_agg(state, ' ' ORDER BY number) FROM approvals`); got != tc.states {
				t.Errorf("the requests are %q, want %q", got, tc.states)
			}
			if got := b.review(reviewRow("call_1", 1, 2, nil)); got.State != contract.RequestOpen {
				t.Errorf("the later request is %s", got.State)
			}
		})
	}
}

// TestCloseRequest: only the current run of a call can close a request that needs no decision any more, which removes it from the list of open requests.
func TestCloseRequest(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	b.admit("call_1")
	row := reviewRow("call_1", 1, 1, nil)
	row.Close = true
	if got := b.review(row); !got.Superseded {
		t.Errorf("of an older run: %+v", got)
	}
	if state := value[string](b, `SELECT state FROM approvals`); state != "open" {
		t.Errorf("an older run made it %s", state)
	}
	row.Epoch = 2
	b.review(row)
	if state := value[string](b, `SELECT state FROM approvals`); state != "closed" {
		t.Errorf("it is %s", state)
	}
}
