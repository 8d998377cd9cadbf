package main

import (
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestIndex: the tool says how far it is, and which file failed.
func TestIndex(t *testing.T) {
	t.Parallel()
	got := pawltest.Call{Tool: index, Args: `{"files":3,"milliseconds":0}`}.Run(t)
	if !got.Result.OK || len(got.Progress) != 3 || got.Progress[2].Done != 3 {
		t.Errorf("%+v", got)
	}
	got = pawltest.Call{Tool: index, Args: `{"files":3,"milliseconds":0,"failAt":2}`}.Run(t)
	if got.Result.ErrorCode != toolspec.CodeExecution || got.Result.SafeMessage != "Error executing tool: file 2 cannot be read" {
		t.Errorf("%+v", got.Result)
	}
}
