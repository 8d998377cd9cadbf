package contract

import "time"

// The workflow FireTrigger, which the schedule of a trigger starts, and which starts the run of an agent. The schedule cannot
// start the run itself: Temporal adds the time to the id of a scheduled workflow, and the id of a run has another form.
const (
	// FireTriggerType is the type of the workflow. Its input is a FireTrigger.
	FireTriggerType = "FireTrigger"
	// ScheduledAt is the search attribute in which Temporal gives the workflow its time.
	ScheduledAt = "TemporalScheduledStartTime"
)

// FireTime bounds the workflow FireTrigger. If it cannot start the run of the agent within this time, the run is not started.
const FireTime = time.Hour

// TriggerFire is the activity that starts the run of an event of a trigger, once for each event.
var TriggerFire = Activity[TriggerFireIn, TriggerFireOut]{name: "triggerFire"}

// TriggerScheduleID returns the id of the schedule of a trigger: `trigger:<tenantId>:<name>`.
func TriggerScheduleID(tenantID, name string) string { return "trigger:" + tenantID + ":" + name }

// FireTrigger is the input of the workflow. It names a trigger and grants no right: the record says what the trigger does.
type FireTrigger struct {
	TenantID string `json:"tenantId"`
	Name     string `json:"name"`
}

// TriggerFireIn is the input of TriggerFire.
type TriggerFireIn struct {
	FireTrigger
	// At is the time of the schedule, in milliseconds since 1970-01-01 UTC.
	At int64 `json:"at"`
}

// TriggerFireOut is the answer of TriggerFire, and the result of the workflow.
type TriggerFireOut struct {
	// RunID is the id of the run that was started; empty if no run was started.
	RunID string `json:"runId,omitempty"`
	// Refused says why no run was started; empty if a run was started.
	Refused string `json:"refused,omitempty"`
}
