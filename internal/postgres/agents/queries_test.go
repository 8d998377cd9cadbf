package agents

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) {
	querytest.Run(t, files, map[string]reflect.Type{
		"AgentRun":    reflect.TypeFor[runRow](),
		"SayToAgent":  reflect.TypeFor[seqRow](),
		"AgentRound":  reflect.TypeFor[roundRow](),
		"AgentRounds": reflect.TypeFor[roundRow](),
		"SaidToAgent": reflect.TypeFor[saidRow](),
	}, "OpenAgentRun", "MoveContext", "RecordRound", "RecordAnswers", "CloseAgentRun")
}
