package postgres

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// Queries returns every statement by name.
func Queries(t testing.TB) map[string]string {
	t.Helper()
	statements, err := db.Statements(queries())
	if err != nil {
		t.Fatal(err)
	}
	return statements
}

// Poll makes a relay poll at another pace.
func (r *Relay) Poll(every time.Duration) *Relay {
	r.poll = every
	return r
}

// Poll makes a herald poll at another pace.
func (h *Herald) Poll(every time.Duration) *Herald {
	h.poll = every
	return h
}

// Life makes a herald give up sooner.
func (h *Herald) Life(life time.Duration) *Herald {
	h.life = life
	return h
}

// Prune is what a herald does every hour.
func (h *Herald) Prune(ctx context.Context) { h.prune(ctx) }

// Prune is what a relay does every hour.
func (r *Relay) Prune(ctx context.Context) { r.prune(ctx) }

// RecheckAgain is what a relay does at every poll.
func (s *Store) RecheckAgain(ctx context.Context) (more bool, err error) { return s.recheckAgain(ctx) }

// RowTypes says what the rows of a query are read into. What is not here is run for its effect.
func RowTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"AllTables": reflect.TypeFor[tableRow](),
		"Admit":     reflect.TypeFor[recordRow](), "Claim": reflect.TypeFor[outcomeRow](), "Check": reflect.TypeFor[checkRow](),
		"Owned": reflect.TypeFor[ownedRow](), "WorkerKeys": reflect.TypeFor[workerKeyRow](),
		"Settle": reflect.TypeFor[settleRow](), "Request": reflect.TypeFor[requestRow](), "Look": reflect.TypeFor[lookRow](),
		"Decide": reflect.TypeFor[decideRow](), "Output": reflect.TypeFor[outputRow](), "SettledValue": reflect.TypeFor[settledValueRow](), "PolicySource": reflect.TypeFor[sourceRow](),
		"ActivatePolicy": reflect.TypeFor[activateRow](), "ActivePolicy": reflect.TypeFor[activeRow](), "PolicyHistory": reflect.TypeFor[ActivationRecord](), "PolicyVersions": reflect.TypeFor[digestRow](),
		"SetShadow": reflect.TypeFor[shadowRow](), "ShadowPolicy": reflect.TypeFor[activeRow](), "ShadowReport": reflect.TypeFor[shadowedRow](),
		"DecidedCalls": reflect.TypeFor[DecidedCall](), "KillSwitchOf": reflect.TypeFor[KillSwitch](), "KillOff": reflect.TypeFor[KillSwitch](), "ListKillSwitches": reflect.TypeFor[KillSwitch](),
		"Recheck": reflect.TypeFor[recheckRow](), "RecheckAgain": reflect.TypeFor[recheckAgainRow](), "Specs": reflect.TypeFor[specRow](),
		"TakeMessages": reflect.TypeFor[Message](),
		"ShowCall":     reflect.TypeFor[showRow](), "ShowStages": reflect.TypeFor[StageRecord](), "ShowAttempts": reflect.TypeFor[AttemptRecord](), "ShowHydrations": reflect.TypeFor[HydrationRecord](),
		"ShowClaims": reflect.TypeFor[ClaimRecord](), "ShowCapacity": reflect.TypeFor[CapacityRecord](), "ShowEvents": reflect.TypeFor[EventRecord](), "ShowApprovals": reflect.TypeFor[approvalRow](),
		"ShowDecisions": reflect.TypeFor[DecisionRecord](), "ListApprovals": reflect.TypeFor[approvalRow](), "ListCalls": reflect.TypeFor[Call](),
		"OpenCalls": reflect.TypeFor[upkeep.OpenCall](), "Sweep": reflect.TypeFor[sweptRow](),
		"Lookup": reflect.TypeFor[findingRow](), "InvalidateTags": reflect.TypeFor[deletedCacheRow](), "DeleteExpiredCache": reflect.TypeFor[deletedCacheRow](),
		"DeleteExpiredRows": reflect.TypeFor[deletedRow](), "ExpiredPartitions": reflect.TypeFor[partitionRow](),
		"SessionBindings": reflect.TypeFor[bindingRow](), "BindSession": reflect.TypeFor[bindingRow](),
		"CheckRelations": reflect.TypeFor[checkedRow](), "PermittedTools": reflect.TypeFor[toolsRow](), "HeldRoles": reflect.TypeFor[roleRow](), "AddRelation": reflect.TypeFor[addedRow](),
		"RemoveRelation": reflect.TypeFor[removedRow](), "ListRelations": reflect.TypeFor[relationRow](),
		"SubmitterKey": reflect.TypeFor[submitterKeyRow](), "SubmitterTrusted": reflect.TypeFor[trustedRow](), "AddSubmitter": reflect.TypeFor[submitterAddedRow](),
		"RevokeSubmitter": reflect.TypeFor[removedRow](), "ListSubmitters": reflect.TypeFor[Submitter](),
		"TakeTokens": reflect.TypeFor[tokensRow](), "TakePlaces": reflect.TypeFor[placesRow](), "ReleaseExpired": reflect.TypeFor[expiredRow](),
		"HappenNotices": reflect.TypeFor[lookedRow](), "SpreadNotices": reflect.TypeFor[lookedRow](), "TakeNotices": reflect.TypeFor[noticeRow](),
		"MarkNoticeFailed": reflect.TypeFor[givenUpRow](), "NoticeBacklog": reflect.TypeFor[NoticeBacklog](),
		"RegisterKey": reflect.TypeFor[registerRow](), "RevokeKey": reflect.TypeFor[revokeRow](), "AddConnection": reflect.TypeFor[changedRow](), "ListConnections": reflect.TypeFor[connectionRow](),
		"ListConnectionGrants": reflect.TypeFor[ConnectionGrantRecord](), "GrantConnection": reflect.TypeFor[grantedRow](),
		"RevokeConnectionGrant": reflect.TypeFor[changedRow](), "TakeSecret": reflect.TypeFor[takenRow](),
		"ConnectionSecret": reflect.TypeFor[secretRow](), "ReplaceSecret": reflect.TypeFor[changedRow](), "BeginRefresh": reflect.TypeFor[refreshRow](), "FailRefresh": reflect.TypeFor[changedRow](), "LeaseConnection": reflect.TypeFor[leasedRow](),
		"SealedSecrets": reflect.TypeFor[sealedRow](),
		"SecretsByKey":  reflect.TypeFor[KeyUse](), "SecretsToReseal": reflect.TypeFor[sealedRow](), "ResealSecrets": reflect.TypeFor[resealedRow](),
		"LiveGrants": reflect.TypeFor[liveGrantRow](),
		"ListGrants": reflect.TypeFor[grantRow](), "RevokeGrant": reflect.TypeFor[revokedRow](), "ListKeys": reflect.TypeFor[KeyRecord](),
	}
}
