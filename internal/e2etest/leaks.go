package e2etest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/toolspec"
)

// Canary is a secret for tests: 32 random letters and digits.
type Canary string

// NewCanary returns a new random canary.
func NewCanary() Canary { return Canary((rand.Text() + rand.Text())[:32]) }

// forms are the ways in which a secret is written: as it is, in lower case, in hexadecimal, and in base64 at any
// offset in a longer text.
func (c Canary) forms() [][]byte {
	plain := []byte(c)
	hexed := hex.EncodeToString(plain)
	found := [][]byte{plain, []byte(strings.ToLower(string(c))), []byte(hexed), []byte(strings.ToUpper(hexed))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// The first and the last characters also depend on the text around the secret.
			text := encoding.EncodeToString(append(make([]byte, shift), plain...))
			found = append(found, []byte(text[[]int{0, 2, 3}[shift]:len(text)-1]))
		}
	}
	return found
}

// Trace is a text that a call has left, and its place.
type Trace struct {
	Where string
	Text  []byte
}

// Traces returns everything that calls have left: their histories, the rows of the database, the log, and the output of the program about them.
func (w *World) Traces(calls ...toolspec.Invocation) []Trace {
	w.T.Helper()
	var found []Trace
	commands := []string{"list", "list --json", "approvals", "approvals --json"}
	for _, inv := range calls {
		id := inv.Identity()
		commands = append(commands, "show "+id.ToolCallID, "show --json "+id.ToolCallID)
		for _, e := range w.History(id.WorkflowID(), "").GetEvents() {
			found = append(found, w.EventTraces(id.WorkflowID(), e)...)
		}
		// On a busy machine a query may take longer than its limit of ten seconds.
		var state toolspec.State
		var err error
		w.Until(func() bool {
			state, err = w.Pawl.State(w.T.Context(), id.WorkflowID())
			return err == nil
		}, "the state of "+id.WorkflowID(), &err)
		found = append(found,
			Trace{"state " + id.WorkflowID(), []byte(AsJSON(state))},
			Trace{"description of " + id.WorkflowID(), []byte(protojson.Format(w.Describe(id.WorkflowID())))},
		)
		if state.Status != toolspec.StatusSettled {
			found = append(found, Trace{"details " + id.WorkflowID(), []byte(w.Details(id.WorkflowID()))})
		}
	}
	for i, printed := range w.PawlCLI(commands...) {
		found = append(found, Trace{"pawl " + commands[i], []byte(printed)})
	}
	found = append(found, w.Rows()...)
	return append(found, Trace{"log", []byte(w.Log.String())})
}

// EventTraces returns an event as bytes, which have its payloads unchanged, and as JSON.
func (w *World) EventTraces(workflowID string, e *historypb.HistoryEvent) []Trace {
	w.T.Helper()
	name := e.GetEventType().String()
	if markers := w.Markers(&historypb.History{Events: []*historypb.HistoryEvent{e}}); len(markers) > 0 {
		name += " " + markers[0][0]
	} else if a := e.GetMarkerRecordedEventAttributes(); a != nil {
		name += " " + a.GetMarkerName()
	}
	binary, err := proto.Marshal(e)
	if err != nil {
		w.T.Fatal(err)
	}
	where := "history " + workflowID + " " + name
	return []Trace{{where, binary}, {where, []byte(protojson.Format(e))}}
}

// Rows returns all rows of all tables.
func (w *World) Rows() []Trace {
	w.T.Helper()
	var found []Trace
	tables := Query[string](w, `SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	for _, table := range tables {
		for _, row := range Query[string](w, `SELECT row_to_json(r)::text FROM `+table+` r`) {
			found = append(found, Trace{"table " + table, []byte(row)})
		}
	}
	return found
}

// Find returns the places of the traces that contain the canary, each place once.
func (c Canary) Find(traces []Trace) (where []string) {
	forms := c.forms()
	for _, t := range traces {
		contained := func(form []byte) bool { return bytes.Contains(t.Text, form) }
		if !slices.Contains(where, t.Where) && slices.ContainsFunc(forms, contained) {
			where = append(where, t.Where)
		}
	}
	return where
}
