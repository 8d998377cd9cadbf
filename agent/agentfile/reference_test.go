package agentfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/agentfile"
)

const reference = "../../docs/agents-reference.md"

// TestReference: the tables of the reference have exactly the keys that Read knows, in its order.
func TestReference(t *testing.T) {
	t.Parallel()
	for heading, misspelled := range map[string]string{
		"The file": "zzzzzzzz: 1\n" + small,
		"Model":    "name: a\nversion: b\nmodel: {zzzzzzzz: 1}\n",
		"Limits":   small + "limits: {zzzzzzzz: 1}\n",
		"Graph":    small + "graph: {zzzzzzzz: 1}\n",
	} {
		_, err := agentfile.Read("a.yaml", []byte(misspelled))
		_, known, found := strings.Cut(fmt.Sprint(err), "is not known here; known are ")
		if !found {
			t.Fatalf("%s: %v", heading, err)
		}
		known, _, _ = strings.Cut(known, "\n")
		var keys []string
		for _, row := range table(t, heading) {
			keys = append(keys, row.key)
		}
		if want := strings.Split(known, ", "); !slices.Equal(keys, want) {
			t.Errorf("%s lists %v, and Read knows %v", heading, keys, want)
		}
	}
}

// TestReferenceBounds: the bounds and the defaults of the reference are those of the code.
func TestReferenceBounds(t *testing.T) {
	t.Parallel()
	upTo := func(n int) string { return fmt.Sprintf("1 to %d", n) }
	for heading, want := range map[string]map[string][2]string{
		"The file": {
			"name": {upTo(agent.MaxName), ""}, "version": {upTo(agent.MaxName), ""}, "instructions": {upTo(agent.MaxInstructions) + " bytes", ""},
			"tools": {fmt.Sprintf("at most %d,", agent.MaxTools), ""}, "agents": {fmt.Sprintf("at most %d,", agent.MaxAgents), ""},
			"description": {upTo(agent.MaxDescription) + " bytes", ""},
		},
		"Model": {
			"maxTokens": {upTo(agent.MaxMaxTokens), fmt.Sprint(agent.DefaultMaxTokens)}, "members": {fmt.Sprintf("at most %d.", agent.MaxMembers), ""},
		},
		"Limits": {
			"rounds": {upTo(agent.MaxRounds), fmt.Sprint(agent.DefaultRounds)}, "calls": {upTo(agent.MaxCalls), fmt.Sprint(agent.DefaultCalls)},
			"time":    {fmt.Sprintf("`%dd`", agent.MaxSeconds/86400), fmt.Sprintf("%dh", agent.DefaultSeconds/3600)},
			"tokens":  {fmt.Sprintf("1 to %d", agent.MaxTokens), ""},
			"cost":    {fmt.Sprintf("`0.000001` to `%d`", agent.MaxMicroUSD/1_000_000), ""},
			"context": {fmt.Sprintf("`%dKB` to `%dMB`", agent.MinContextBytes>>10, agent.MaxContextBytes>>20), fmt.Sprintf("%dKB", agent.DefaultContextBytes>>10)},
			"atOnce":  {upTo(agent.MaxAtOnce), fmt.Sprint(agent.DefaultAtOnce)},
		},
		"Graph": {"name": {upTo(agent.MaxLine), ""}, "version": {upTo(agent.MaxLine), ""}},
	} {
		found := 0
		for _, row := range table(t, heading) {
			cells, ok := want[row.key]
			if !ok {
				continue
			}
			found++
			if !strings.Contains(row.value, cells[0]) || cells[1] != "" && row.standard != "`"+cells[1]+"`" {
				t.Errorf("%s: %+v; want the bound %q and the default %q", heading, row, cells[0], cells[1])
			}
		}
		if found != len(want) {
			t.Errorf("%s: %d of %d keys are in the table", heading, found, len(want))
		}
	}
}

type row struct{ key, value, standard string }

var rowForm = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*) \\| (.*) \\|$")

// table returns the first table below a heading.
func table(t *testing.T, heading string) (rows []row) {
	t.Helper()
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n##") // also a heading below that of the section
	for _, m := range rowForm.FindAllStringSubmatch(section, -1) {
		rows = append(rows, row{m[1], m[2], m[3]})
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table %s", reference, heading)
	}
	return rows
}

// TestExamples: every file that people copy is one that Read accepts.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/agents/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agentfile.Read(file, source); err != nil {
			t.Error(err)
		}
	}
}
