package policy

import "github.com/pawl-run/pawl/toolspec"

// Mode says when a call is asked about that no rule speaks of. It answers only
// that question: it lifts no deny, no demanded approval and no budget.
type Mode string

// The modes.
const (
	// Yolo never asks.
	Yolo Mode = "yolo"
	// Auto asks where the risk is medium or high.
	Auto Mode = "auto"
	// Ask always asks. It is the mode of a tenant that names none.
	Ask Mode = "ask"
)

// verb is the mode table. What it does not know is asked about.
func (m Mode) verb(risk toolspec.Risk) Verb {
	switch {
	case m == Yolo, m == Auto && risk == toolspec.LowRisk:
		return Allow
	}
	return RequireApproval
}
