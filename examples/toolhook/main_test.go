package main

import (
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func TestNoHiddenFiles(t *testing.T) {
	t.Parallel()
	for path, hidden := range map[string]bool{
		"notes.txt": false, "../notes.txt": false, "./notes.txt": false, ".env": true, "a/.git/config": true,
	} {
		call := pawltest.Call{Tool: tools.ReadFile(), Args: map[string]any{"path": path}}
		v, err := call.At(t, hook.WillValidateInput, noHiddenFiles())
		if err != nil || (v.Outcome == hook.Failed) != hidden {
			t.Errorf("%s: %+v, %v", path, v, err)
		}
		if hidden && (v.Failure.Code != toolspec.CodeAborted || v.Failure.Details.Code != "hidden_file" || v.Failure.HTTPStatus != 403) {
			t.Errorf("%s: %+v", path, v.Failure)
		}
	}
}
