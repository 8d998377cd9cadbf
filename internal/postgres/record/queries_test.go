package record

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"Admit":              reflect.TypeFor[recordRow](),
		"Request":            reflect.TypeFor[requestRow](),
		"Look":               reflect.TypeFor[lookRow](),
		"Decide":             reflect.TypeFor[decideRow](),
		"Lookup":             reflect.TypeFor[findingRow](),
		"InvalidateTags":     reflect.TypeFor[deletedCacheRow](),
		"DeleteExpiredCache": reflect.TypeFor[deletedCacheRow](),
		"Claim":              reflect.TypeFor[outcomeRow](),
		"Earlier":            reflect.TypeFor[earlierRow](),
		"Check":              reflect.TypeFor[checkRow](),
		"Owned":              reflect.TypeFor[ownedRow](),
		"LiveGrants":         reflect.TypeFor[liveGrantRow](),
		"ListGrants":         reflect.TypeFor[grantRow](),
		"RevokeGrant":        reflect.TypeFor[revokedRow](),
		"TakeSlots":          reflect.TypeFor[slotsRow](),
		"ReleaseExpired":     reflect.TypeFor[expiredRow](),
		"TakeTokens":         reflect.TypeFor[tokensRow](),
		"DeleteExpiredRows":  reflect.TypeFor[deletedRow](),
		"ExpiredPartitions":  reflect.TypeFor[partitionRow](),
		"SessionBindings":    reflect.TypeFor[bindingRow](),
		"BindSession":        reflect.TypeFor[bindingRow](),
		"Settle":             reflect.TypeFor[settleRow](),
		"OpenCalls":          reflect.TypeFor[upkeep.OpenCall](),
		"Sweep":              reflect.TypeFor[sweptRow](),
		"TakeEnding":         reflect.TypeFor[endingRow](),
		"EndStage":           reflect.TypeFor[endedRow](),
		"RecordedCalls":      reflect.TypeFor[workflowRow](),
		"DispatchesOf":       reflect.TypeFor[Dispatched](),
		"Fence":              reflect.TypeFor[fencedRow](),
		"RunsInTasks":        reflect.TypeFor[runsInTasksRow](),
		"RecordLost":         reflect.TypeFor[recordedRow](),
	}, "Begin", "Keep", "DeleteKeptAnswers", "Refuse", "CloseOtherRequests", "CloseRequest", "LockFlight", "LockInvocation", "Forged", "LockSemaphores", "LapseSlots", "RenewLeases", "LockCapacity", "LapseReleased", "Release", "LockExpired", "LapseExpired", "DeleteIdleSemaphores", "EnsurePartitions", "LockQuotas", "DeleteFullQuotas", "DeleteExpiredCalls", "DeleteExpiredRuns", "DropPartition", "DeleteOldSessions", "DropEnding")
}
