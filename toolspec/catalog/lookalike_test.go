package catalog

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestLookalikes: a name that imitates one of another source is found, whatever separators, case, accents
// or alphabet it uses, and the source that is imitated is not accused of it.
func TestLookalikes(t *testing.T) {
	if len(similar) != len(shapes) {
		t.Fatalf("%d characters, %d shapes", len(similar), len(shapes))
	}
	builtin := func(id string) toolspec.Spec { return toolspec.Spec{Name: id, Origin: "builtin"} }
	offered := func(server, name string) toolspec.Spec {
		return toolspec.Spec{Name: toolspec.MCPToolID(server, name), Origin: "mcp", ProvidedBy: server, Discovered: &toolspec.Discovered{Digest: "d", Name: name}}
	}
	for name, like := range map[string]bool{
		"read_file": true, "readFile": true, "READ-FILE": true, "read.file": true, "reаd_file": true, "réad_file": true, "read_fi1e": true, "read_fıle": true,
		"read": false, "read_files": false, "file_read": false, "": false,
	} {
		got := Lookalikes([]toolspec.Spec{builtin("core__read_file"), builtin("core__ls"), offered("x", name)})
		want := map[string][]string{}
		if like {
			want[toolspec.MCPToolID("x", name)] = []string{"core__read_file"}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	// Two servers accuse each other. Tools of one source do not.
	got := Lookalikes([]toolspec.Spec{offered("a", "search"), offered("b", "Search"), offered("c", "find"), offered("c", "Find")})
	want := map[string][]string{"mcp__a__search": {"mcp__b__Search"}, "mcp__b__Search": {"mcp__a__search"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	// Two letters that look like one.
	if got := Lookalikes([]toolspec.Spec{builtin("core__format"), offered("x", "forrnat")}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
