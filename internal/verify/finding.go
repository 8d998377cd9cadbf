package verify

import (
	"cmp"
	"fmt"
	"strings"
)

// Place is the place of a text: in a history, or in a row.
type Place struct {
	WorkflowID string `json:"workflowId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	// EventID is 0 if the text is in no event, but in the description of a
	// workflow or of a schedule.
	EventID int64 `json:"eventId,omitempty"`
	// Event is the type of the event, or the name of the description.
	Event string `json:"event,omitempty"`
	// Path leads to the field.
	Path string `json:"path,omitempty"`

	Table  string `json:"table,omitempty"`
	Column string `json:"column,omitempty"`
	// Key is the primary key of the row, as name=value.
	Key string `json:"key,omitempty"`
}

// Finding is a secret where none may stand. It holds no byte of the secret.
type Finding struct {
	Place
	// Secret is the label of the secret.
	Secret string `json:"secret"`
	// Form is how the secret is written; see fingerprint.Match.
	Form string `json:"form"`
}

// String is a line for people.
func (p Place) String() string {
	if p.Table != "" {
		return strings.TrimSpace(fmt.Sprintf("table %s, column %s, %s", p.Table, p.Column, cmp.Or(p.Key, "no key")))
	}
	text := "workflow " + p.WorkflowID
	if p.RunID != "" {
		text += ", run " + p.RunID
	}
	if p.EventID != 0 {
		text += fmt.Sprintf(", event %d", p.EventID)
	}
	return fmt.Sprintf("%s %s: %s", text, p.Event, p.Path)
}

// Report counts what was read and what was found.
type Report struct {
	Workflows int `json:"workflows"`
	Events    int `json:"events"`
	Tables    int `json:"tables"`
	Rows      int `json:"rows"`
	Outputs   int `json:"outputs"`
	// Values counts the texts that were searched, of Bytes bytes in all.
	Values int   `json:"values"`
	Bytes  int64 `json:"bytes"`
	// Findings counts the places where a secret stands.
	Findings int `json:"findings"`
	// Unread counts the payloads and outputs that could not be read, and the
	// workflows that were deleted before they were read.
	Unread int `json:"unread"`
}

// Clean says that everything was read and no secret found.
func (r Report) Clean() bool { return r.Findings == 0 && r.Unread == 0 }
