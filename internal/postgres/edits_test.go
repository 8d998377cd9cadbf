package postgres_test

import (
	"testing"

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
		second.View.Digest, second.EditedBy = "edited-digest", "user:bob"
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
			row.Edits = c.edits
			if got := b.request(row); got.Number != c.number || got.State != c.state {
				t.Errorf("%+v", got)
			}
			if got := value[string](b, `SELECT string_agg(state, ' ' ORDER BY number) FROM approvals`); got != c.states {
				t.Errorf("the requests are %q, want %q", got, c.states)
			}
		})
	}
	// A request that was opened again goes before an older request that was edited.
	b := edited(t)
	b.request(requestRow("call_1", 2))
	row := requestRow("call_1", 2)
	row.Edits = []int{1}
	if got := b.request(row); got.Number != 3 || got.State != contract.RequestOpen {
		t.Errorf("asked again: %+v", got)
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
