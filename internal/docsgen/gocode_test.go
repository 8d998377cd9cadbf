package docsgen

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

// TestGoCompiles: the compiler takes every block of Go. A block is a whole file,
// declarations, or statements. Imports of the standard library and of the packages
// that users import are found by name. A comment in front of the block declares what
// else the block refers to, and imports other packages:
//
//	<!-- go
//	var orders interface{ Find(id string) (string, error) }
//	-->
func TestGoCompiles(t *testing.T) {
	t.Parallel()
	var blocks []pagetest.Block
	for _, page := range pagetest.Handbook(t, root) {
		for _, block := range page.Blocks(t) {
			if block.Language == "go" {
				blocks = append(blocks, block)
			}
		}
	}
	if len(blocks) < 10 {
		t.Fatalf("%d blocks of Go: some are not found", len(blocks))
	}
	for i, mistakes := range compile(t, blocks) {
		if len(mistakes) > 0 {
			t.Errorf("%s\nin the block\n%s", strings.Join(mistakes, "\n"), blocks[i].Text)
		}
	}
}

// TestGoCompilesFindsMistakes: each kind of mistake is found at its line, and a block
// without one has none.
func TestGoCompilesFindsMistakes(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, setup, want string }{
		{"x := toolspec.NoSuchName", "", "docs/a.md:7:15: undefined: toolspec.NoSuchName"},
		{"fmt.Println(1)\nfmt.Println(undeclared)", "", "docs/a.md:8:13: undefined: undeclared"},
		{`var n int = "text"`, "", "docs/a.md:7:13: cannot use"},
		{"nosuch.Call()", "", "undefined: nosuch"},
		{"fmt.Println(", "", "docs/a.md:8"},
		{"fmt.Println(n)", "var n nosuchtype", "docs/a.md:3:7: undefined: nosuchtype"},
		{"package main\n\nimport _ \"github.com/pawl-run/pawl/internal/cli\"\n\nfunc main() {}", "", "a user cannot import github.com/pawl-run/pawl/internal/cli"},
		{"package main\n\nfunc main() { fmt.Println() }", "", "undefined: fmt"},
		{"package main\n\nfunc main() { found() }", "func found() { fmt.Println() }", ""},
		{"package main\n\nimport \"fmt\"\n\nfunc main() {}", "", `"fmt" imported and not used`},
		{"x := 1", "", ""},
		{"return errors.New(\"statements may return\")", "", ""},
		{"type T struct{ A toolspec.Code }", "", ""},
		{"c := client.Options{}", "import \"go.temporal.io/sdk/client\"", ""},
		{
			"c.Close()\nfmt.Println(n)",
			"import (\n\t\"sync\"\n\n\t\"go.temporal.io/sdk/client\"\n)\n\nvar (\n\tc client.Client\n\tm sync.Mutex\n\tn nosuchtype\n)",
			"docs/a.md:12:4: undefined: nosuchtype",
		},
		{"c.Close()", "import \"go.temporal.io/sdk/client\"\n\nvar c client.Client", ""},
	}
	var blocks []pagetest.Block
	for _, c := range cases {
		blocks = append(blocks, pagetest.Block{Page: "docs/a.md", Line: 7, Language: "go", Text: c.text + "\n", Setup: c.setup, SetupLine: 3})
	}
	for i, mistakes := range compile(t, blocks) {
		found := strings.Join(mistakes, "\n")
		if want := cases[i].want; want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%q: found %q, want %q", cases[i].text, found, want)
		}
	}
}
