package review

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Change is one difference between two policies, at a key of the document.
type Change struct {
	// Path is the path of the key, such as tenants.acme.rules.
	Path string `json:"path"`
	// Removed and Added are the old and the new content of the key: a value, or the entries of a
	// list that are not in both lists, in their order.
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
}

// Diff compares the meaning of two policies. Comments, layout and defaults that are written out
// make no difference. A nil policy is an empty document. Policies with the same digest have no
// difference.
func Diff(from, to *policy.Policy) []Change {
	return differences("", plain(from), plain(to))
}

func plain(p *policy.Policy) any {
	dec := json.NewDecoder(bytes.NewReader(p.Source()))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil // no policy, or one that Parse did not make
	}
	return v
}

// differences compares two decoded JSON values at a path. It compares objects key by key, lists entry by entry,
// and other values as a whole.
func differences(path string, from, to any) []Change {
	a, aMap := from.(map[string]any)
	b, bMap := to.(map[string]any)
	if (aMap || from == nil) && (bMap || to == nil) {
		keys := slices.Collect(maps.Keys(a))
		for key := range b {
			if _, both := a[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		var changes []Change
		for _, key := range keys {
			changes = append(changes, differences(strictyaml.Join(path, key), a[key], b[key])...)
		}
		return changes
	}
	removed, added := apart(entries(from), entries(to))
	if len(removed)+len(added) == 0 {
		return nil
	}
	return []Change{{Path: path, Removed: removed, Added: added}}
}

// entries returns the lines by which two values are compared.
func entries(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		lines := make([]string, len(v))
		for i, e := range v {
			lines[i] = line(e)
		}
		return lines
	default:
		return []string{line(v)}
	}
}

func line(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(document.Canonical(v))
}

// apart returns the entries of two lists that are not in their longest common subsequence. An
// entry that moved is in removed and in added.
func apart(a, b []string) (removed, added []string) {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			removed = append(removed, a[i])
			i++
		default:
			added = append(added, b[j])
			j++
		}
	}
	return removed, added
}

// Shift is a tool whose calls two policies judge differently.
type Shift struct {
	TenantID string
	ToolID   string
	Before   policy.Decision
	After    policy.Decision
}

// Shifts judges a call of every tool for every tenant that either policy names, without arguments and without an
// actor, and returns the calls whose verdicts differ, sorted. Calls with an actor and arguments can get different
// verdicts where Shifts finds no difference.
func Shifts(from, to *policy.Policy, tools []toolspec.Spec) []Shift {
	var shifts []Shift
	for _, id := range Tenants(from, to) {
		for _, tool := range tools {
			f := policy.Facts{TenantID: id}.Of(tool)
			before, after := from.Decide(f), to.Decide(f)
			if before.Verb != after.Verb || before.Undetermined != after.Undetermined {
				shifts = append(shifts, Shift{TenantID: id, ToolID: tool.Name, Before: before, After: after})
			}
		}
	}
	return shifts
}
