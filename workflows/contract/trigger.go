package contract

import "time"

// The workflow that a schedule of a trigger starts. A schedule of Temporal adds the time to the id of the workflow that it
// starts, and a run of an agent has an id of its own, so the run is not started by the schedule itself.
const (
	// FireTriggerType is the type of the workflow. Its input is a FireTrigger.
	FireTriggerType = "FireTrigger"
	// ScheduledAt is the search attribute in which Temporal gives the workflow its time.
	ScheduledAt = "TemporalScheduledStartTime"
)

// FireTime bounds the workflow that starts the run of one time of a schedule. After it, the run is not started.
const FireTime = time.Hour

// TriggerFire is the activity that starts the run of an event of a trigger, once for each event.
var TriggerFire = Activity[TriggerFireIn, TriggerFireOut]{name: "triggerFire"}

// TriggerScheduleID is `trigger:<tenantId>:<name>`, the id of the schedule of a trigger.
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
	// RunID is the run that was started. Refused says why none was.
	RunID   string `json:"runId,omitempty"`
	Refused string `json:"refused,omitempty"`
}
