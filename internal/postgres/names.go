package postgres

import (
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/internal/postgres/record"
)

// The names by which commands know what the stores return, until they take them from the stores.
type (
	// Activation is policies.Activation.
	Activation = policies.Activation
	// ActivationRecord is policies.ActivationRecord.
	ActivationRecord = policies.ActivationRecord
	// Approval is reads.Approval.
	Approval = reads.Approval
	// Call is reads.Call.
	Call = reads.Call
	// CapacityRecord is reads.CapacityRecord.
	CapacityRecord = reads.CapacityRecord
	// ConnectionGrantRecord is connections.GrantRecord.
	ConnectionGrantRecord = connections.GrantRecord
	// ConnectionRecord is connections.Record.
	ConnectionRecord = connections.Record
	// DecidedCall is reads.DecidedCall.
	DecidedCall = reads.DecidedCall
	// Detail is reads.Detail.
	Detail = reads.Detail
	// Filter is reads.Filter.
	Filter = reads.Filter
	// GrantRecord is record.GrantRecord.
	GrantRecord = record.GrantRecord
	// KeyRecord is identities.KeyRecord.
	KeyRecord = identities.KeyRecord
	// KeyUse is connections.KeyUse.
	KeyUse = connections.KeyUse
	// KillScope is policies.KillScope.
	KillScope = policies.KillScope
	// KillSwitch is policies.KillSwitch.
	KillSwitch = policies.KillSwitch
	// NewConnection is connections.AddRow.
	NewConnection = connections.AddRow
	// PolicyMovedError is policies.MovedError.
	PolicyMovedError = policies.MovedError
	// RelationRecord is identities.RelationRecord.
	RelationRecord = identities.RelationRecord
	// Submitter is identities.Submitter.
	Submitter = identities.Submitter
)

// The errors likewise.
var (
	// ErrConnectionTaken is connections.ErrTaken.
	ErrConnectionTaken = connections.ErrTaken
	// ErrKeyTaken is identities.ErrKeyTaken.
	ErrKeyTaken = identities.ErrKeyTaken
)

// RolledBack is policies.RolledBack.
const RolledBack = policies.RolledBack
