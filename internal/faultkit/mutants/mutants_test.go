package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestMutantsApply: every mutant finds the text that it replaces.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := conditions(root)
	if err != nil || len(all) < 300 {
		t.Fatalf("%d conditions, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		if c.changed == c.text {
			t.Errorf("%s changes nothing", c.guard)
		}
		if seen[c.guard] {
			t.Errorf("two conditions are called %s", c.guard)
		}
		seen[c.guard] = true
	}
	for _, m := range slices.Concat(mutants, named, ofTools, ofClaimedLane, ofDenials, ofAgents, []mutant{ofStatements}) {
		if _, err := m.write(root, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.guard, err)
		}
		if seen[m.guard] {
			t.Errorf("two mutants are called %s", m.guard)
		}
		seen[m.guard] = true
	}
}
