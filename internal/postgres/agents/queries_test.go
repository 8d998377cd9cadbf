package agents

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"ApplyAgent":    reflect.TypeFor[applyRow](),
		"ActivateAgent": reflect.TypeFor[Activated](),
		"RetireAgent":   reflect.TypeFor[Retired](),
		"AgentDocument": reflect.TypeFor[documentRow](),
		"Agents":        reflect.TypeFor[ActiveVersion](),
		"AgentVersions": reflect.TypeFor[Version](),
		"OpenAgentRuns": reflect.TypeFor[upkeep.OpenRun](),
		"ForkAgentRun":  reflect.TypeFor[forkedRow](),
		"AgentRun":      reflect.TypeFor[runRow](),
		"SayToAgent":    reflect.TypeFor[saidToRow](),
		"AgentRound":    reflect.TypeFor[roundRow](),
		"AgentRounds":   reflect.TypeFor[roundRow](),
		"SaidToAgent":   reflect.TypeFor[saidRow](),
		"StartChild":    reflect.TypeFor[startedRow](),
	}, "LockAgent", "LockParent", "OpenAgentRun", "MoveContext", "RecordSummary", "RecordRound", "AddUsage", "RecordAnswers", "CloseAgentRun", "DeleteExpiredAgentRuns")
}
