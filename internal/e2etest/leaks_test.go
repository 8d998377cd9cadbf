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

// canary is a text that must not be found: 32 random letters and digits.
type canary string

func newCanary() canary { return canary((rand.Text() + rand.Text())[:32]) }

// forms are the ways a text is written: as it is, in hexadecimal, and in base64 wherever it stands in a longer text.
func (c canary) forms() [][]byte {
	plain := []byte(c)
	hexed := hex.EncodeToString(plain)
	found := [][]byte{plain, []byte(strings.ToLower(string(c))), []byte(hexed), []byte(strings.ToUpper(hexed))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// The first and the last characters depend on the neighbours.
			text := encoding.EncodeToString(append(make([]byte, shift), plain...))
			found = append(found, []byte(text[[]int{0, 2, 3}[shift]:len(text)-1]))
		}
	}
	return found
}

// trace is what a call has left somewhere.
type trace struct {
	where string
	text  []byte
}

// traces are everything that calls have left: histories, rows, the log, and what the program prints of them.
func (w *world) traces(calls ...toolspec.Invocation) []trace {
	w.t.Helper()
	var found []trace
	commands := []string{"list", "list --json", "approvals", "approvals --json"}
	for _, inv := range calls {
		id := inv.Identity()
		commands = append(commands, "show "+id.ToolCallID, "show --json "+id.ToolCallID)
		for _, e := range w.history(id.WorkflowID(), "").GetEvents() {
			found = append(found, w.eventTraces(id.WorkflowID(), e)...)
		}
		// On a busy machine a query may miss its ten seconds.
		var state toolspec.State
		var err error
		w.until(func() bool {
			state, err = w.pawl.State(w.t.Context(), id.WorkflowID())
			return err == nil
		}, "the state of "+id.WorkflowID(), &err)
		found = append(found,
			trace{"state " + id.WorkflowID(), []byte(asJSON(state))},
			trace{"description of " + id.WorkflowID(), []byte(protojson.Format(w.describe(id.WorkflowID())))},
		)
		if state.Status != toolspec.StatusSettled {
			found = append(found, trace{"details " + id.WorkflowID(), []byte(w.details(id.WorkflowID()))})
		}
	}
	for i, printed := range w.pawlCLI(commands...) {
		found = append(found, trace{"pawl " + commands[i], []byte(printed)})
	}
	found = append(found, w.rows()...)
	return append(found, trace{"log", []byte(w.log.String())})
}

// eventTraces is an event in JSON, and in bytes, where payloads are as they were.
func (w *world) eventTraces(workflowID string, e *historypb.HistoryEvent) []trace {
	w.t.Helper()
	name := e.GetEventType().String()
	if a := e.GetMarkerRecordedEventAttributes(); a != nil {
		name += " " + w.markers(&historypb.History{Events: []*historypb.HistoryEvent{e}})[0].name
	}
	binary, err := proto.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	where := "history " + workflowID + " " + name
	return []trace{{where, binary}, {where, []byte(protojson.Format(e))}}
}

// rows are all rows of all tables.
func (w *world) rows() []trace {
	w.t.Helper()
	var found []trace
	tables := query[string](w, `SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	for _, table := range tables {
		for _, row := range query[string](w, `SELECT row_to_json(r)::text FROM `+table+` r`) {
			found = append(found, trace{"table " + table, []byte(row)})
		}
	}
	return found
}

// find lists where the canary stands, each place once.
func (c canary) find(traces []trace) (where []string) {
	forms := c.forms()
	for _, t := range traces {
		stands := func(form []byte) bool { return bytes.Contains(t.text, form) }
		if !slices.Contains(where, t.where) && slices.ContainsFunc(forms, stands) {
			where = append(where, t.where)
		}
	}
	return where
}
