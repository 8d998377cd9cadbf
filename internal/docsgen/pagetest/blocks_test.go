package pagetest

import (
	"strings"
	"testing"
)

const example = "# Page\n\n" +
	"<!-- go\nvar x int\n-->\n\n```go\nx++\n```\n\n" +
	"<!-- serves: ready -->\n<!-- sh\nexport A=1\n-->\n```sh\nserve $A\n```\n" +
	"<!-- not run: it needs a cloud -->\n\n```sh\ncloud\n```\n" +
	"<!-- generated: table -->\n\n```json invocation\n{}\n```\n"

func TestBlocks(t *testing.T) {
	t.Parallel()
	blocks, err := Blocks("docs/a.md", example)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for i, want := range []Block{
		{Line: 8, Language: "go", Text: "x++\n", Setup: "var x int\n", SetupLine: 4},
		{Line: 16, Language: "sh", Text: "serve $A\n", Setup: "export A=1\n", SetupLine: 13, Serves: "ready"},
		{Line: 21, Language: "sh", Text: "cloud\n", NotRun: "it needs a cloud"},
		{Line: 26, Language: "json", Kind: "invocation", Text: "{}\n"},
	} {
		want.Page = "docs/a.md"
		if blocks[i] != want {
			t.Errorf("block %d is %+v, want %+v", i, blocks[i], want)
		}
	}
	if prose := Prose(example); strings.Contains(prose, "cloud\n") || !strings.Contains(prose, "# Page") {
		t.Errorf("the prose is %q", prose)
	}
}

func TestBlocksRefuses(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"- a list\n\n  ```sh\n  ls\n  ```\n",
		"text\n```sh\nls\n",
		"<!-- sh\nls\n-->\n```go\nx++\n```\n",
		"<!-- not run: -->\n```sh\nls\n```\n",
		"<!-- not run: it is slow -->\n```go\nx++\n```\n",
		"<!-- serves: a text\nand more -->\n```sh\nls\n```\n",
		"```text\nThe files:\n  $ ls\n```\n",
		"```text\n# systemctl start pawl\n```\n",
		"```text\nls\nA=b pawl worker\n```\n",
		"<!-- not run: it is slow -->\n```sh\n$ ls\n```\n",
	} {
		if blocks, err := Blocks("docs/a.md", page); err == nil {
			t.Errorf("%q is taken as %+v", page, blocks)
		}
	}
}
