package reads

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"EndingBacklog":  reflect.TypeFor[EndingBacklog](),
		"Backlogs":       reflect.TypeFor[Backlogs](),
		"NoticeBacklog":  reflect.TypeFor[NoticeBacklog](),
		"AllTables":      reflect.TypeFor[tableRow](),
		"ShowCall":       reflect.TypeFor[showRow](),
		"ShowStages":     reflect.TypeFor[StageRecord](),
		"ShowAttempts":   reflect.TypeFor[AttemptRecord](),
		"ShowHydrations": reflect.TypeFor[HydrationRecord](),
		"ShowClaims":     reflect.TypeFor[ClaimRecord](),
		"ShowOutputs":    reflect.TypeFor[OutputRecord](),
		"OutputsOfRun":   reflect.TypeFor[OutputRecord](),
		"ShowCapacity":   reflect.TypeFor[CapacityRecord](),
		"ShowEvents":     reflect.TypeFor[EventRecord](),
		"ShowApprovals":  reflect.TypeFor[approvalRow](),
		"ShowDecisions":  reflect.TypeFor[decisionRow](),
		"ListApprovals":  reflect.TypeFor[approvalRow](),
		"ListCalls":      reflect.TypeFor[Call](),
		"OwnsRun":        reflect.TypeFor[ownerRow](),
		"DecidedCalls":   reflect.TypeFor[DecidedCall](),

		"ListAgentRuns":     reflect.TypeFor[client.AgentRunSummary](),
		"ShowAgentRun":      reflect.TypeFor[agentRunRow](),
		"ShowAgentRounds":   reflect.TypeFor[agentRoundRow](),
		"ShowAgentCalls":    reflect.TypeFor[agentCallRow](),
		"ShowAgentOutcomes": reflect.TypeFor[agentOutcomeRow](),
		"ShowAgentMessages": reflect.TypeFor[agentMessageRow](),

		"ShowAgentSummaries": reflect.TypeFor[client.AgentSummary](),
	})
}
