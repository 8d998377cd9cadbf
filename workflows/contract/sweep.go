package contract

// The activities of the sweeper.
var (
	SweepCalls     = Activity[SweepCallsIn, SweepCallsOut]{name: "sweepCalls", regular: true}
	KeepPartitions = Activity[KeepPartitionsIn, KeepPartitionsOut]{name: "keepPartitions", regular: true}
	DropExpired    = Activity[DropExpiredIn, DropExpiredOut]{name: "dropExpired", regular: true}
)

// SweepCallsIn is the input of SweepCalls, which settles the calls whose workflow is
// over. The activity uses the namespace of its worker.
type SweepCallsIn struct{}

// SweepCallsOut counts the open calls that SweepCalls found, by what SweepCalls did with them.
type SweepCallsOut struct {
	Open    int `json:"open"`
	Running int `json:"running"`
	// MovedOn counts the calls that another process settled or took over meanwhile.
	MovedOn int `json:"movedOn,omitempty"`
	// Unclear counts the calls that stay open because Temporal gave no status of their
	// workflow.
	Unclear int `json:"unclear,omitempty"`
	// Refused counts the calls that stay open because the record cannot be written.
	Refused        int `json:"refused,omitempty"`
	Cancelled      int `json:"cancelled,omitempty"`
	TimedOut       int `json:"timedOut,omitempty"`
	Internal       int `json:"internal,omitempty"`
	OutcomeUnknown int `json:"outcomeUnknown,omitempty"`
	// Ended counts the settled calls whose hooks at the closing stages have all run now. The sweeper may have
	// settled them in an earlier sweep.
	Ended int `json:"ended,omitempty"`
	// AgentRuns counts the runs of agents that the sweeper ended.
	AgentRuns int `json:"agentRuns,omitempty"`
}

// Swept returns the number of calls that the sweeper settled.
func (o SweepCallsOut) Swept() int { return o.Cancelled + o.TimedOut + o.Internal + o.OutcomeUnknown }

// KeepPartitionsIn is the input of KeepPartitions, which creates the partitions of the
// coming months.
type KeepPartitionsIn struct{}

// KeepPartitionsOut is the answer of KeepPartitions. It has no fields yet.
type KeepPartitionsOut struct{}

// DropExpiredIn is the input of DropExpired, which deletes data past its retention.
type DropExpiredIn struct{}

// DropExpiredOut counts the deleted data.
type DropExpiredOut struct {
	RetentionDays int `json:"retentionDays"`
	Calls         int `json:"calls"`
	Rows          int `json:"rows"`
	// Runs counts the deleted runs.
	Runs int `json:"runs,omitempty"`
	// AgentRuns counts the deleted runs of agents.
	AgentRuns int `json:"agentRuns,omitempty"`
	// Cached counts the deleted values of the result cache.
	Cached int `json:"cached,omitempty"`
	// Outputs counts the changed rows of stored outputs and of their chunks.
	Outputs int `json:"outputs,omitempty"`
	// Memories counts deleted rows of the memory of sessions.
	Memories   int `json:"memories,omitempty"`
	Partitions int `json:"partitions"`
	// Busy counts the expired partitions that were not dropped because they were in use.
	Busy int `json:"busy,omitempty"`
	// Unfinished says that expired data is left for the next run.
	Unfinished bool `json:"unfinished,omitempty"`
}
