package pages

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

// root is the repository's, seen from here.
const root = "../../.."

// mostNotRun bounds the blocks that no test runs. A block belongs among them if it needs what no machine of CI has: an account at a
// service, a person in a browser, the rights of root, or minutes. Each says why in front of it.
const mostNotRun = 10

// TestShellRuns: the shell blocks of a page run as they stand, one after the other in one shell. The shell is in a directory of its own
// beside a `pawl dev`, which the page starts itself or has here. A block fails with the first command that fails.
//
// Comments in front of a block say what the block needs (see package pagetest): commands that run before it, in the same shell, and the
// text that a program prints which then serves until the end of the page. In the environment are CHECKOUT, the repository, and the
// programs `pawl` and `temporal`.
func TestShellRuns(t *testing.T) {
	t.Parallel()
	notRun, run := 0, 0
	programs := build(t)
	for _, page := range pagetest.Handbook(t, root) {
		var blocks []pagetest.Block
		for _, block := range page.Blocks(t) {
			switch {
			case block.Language != "sh":
			case block.NotRun != "":
				notRun++
			default:
				blocks = append(blocks, block)
			}
		}
		run += len(blocks)
		if len(blocks) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(page.Path, "/", " "), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, programs)
			if err := s.run(script(blocks)); err != nil {
				t.Error(err)
			}
		})
	}
	if notRun > mostNotRun {
		t.Errorf("%d blocks are not run, want at most %d", notRun, mostNotRun)
	}
	if run < 15 {
		t.Errorf("%d blocks are run: some are not found", run)
	}
}

// TestShellRunsFindsMistakes: a block with a command that fails, and a program that ends instead of serving, fail at their place.
func TestShellRunsFindsMistakes(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	serves := pagetest.Block{Page: "docs/a.md", Line: 3, Language: "sh", Text: "pawl dev\n", Setup: "pawl() { echo ready; while :; do sleep 1; done; }\n", Serves: "ready"}
	for _, c := range []struct {
		block pagetest.Block
		want  string
	}{
		{pagetest.Block{Text: "true\n"}, ""},
		{pagetest.Block{Text: "echo $A\n", Setup: "A=1\n"}, ""},
		{pagetest.Block{Text: "cat nothing | wc -l\ntrue\n"}, "docs/a.md:7"},
		{pagetest.Block{Text: "echo $UNSET\n"}, "docs/a.md:7"},
		{pagetest.Block{Text: "true\n", Setup: "false\n"}, "docs/a.md:7"},
		{pagetest.Block{Text: "echo never\n", Serves: "ready"}, "docs/a.md:7"},
	} {
		t.Run(c.block.Text, func(t *testing.T) {
			t.Parallel()
			c.block.Page, c.block.Line, c.block.Language = "docs/a.md", 7, "sh"
			err := newSite(t, programs).run(script([]pagetest.Block{serves, c.block}))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// build compiles the stock program as a user would.
func build(t *testing.T) (dir string) {
	t.Helper()
	for _, needed := range []string{"bash", "jq", "openssl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Fatalf("the pages use %s: %v", needed, err)
		}
	}
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "pawl"), "./cmd/pawl")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return dir
}

// prologue stops at the first command that fails. A program that serves has printed so before the page goes on.
const prologue = `set -euo pipefail
place=start
logs=$PWD
trap 'echo "@@ failed at $place" >&2' EXIT
serves() {
  until grep -qF -- "$3" "$2"; do
    kill -0 "$1" 2>/dev/null || { cat "$2" >&2; echo "it ended, and never printed: $3" >&2; return 1; }
    sleep 0.1
  done
}
`

// script writes the program of the shell.
func script(blocks []pagetest.Block) string {
	var b strings.Builder
	b.WriteString(prologue)
	for i, block := range withServers(blocks) {
		fmt.Fprintf(&b, "place=%s\n%s", block, block.Setup)
		if block.Serves == "" {
			b.WriteString(block.Text)
			continue
		}
		fmt.Fprintf(&b, "(\n%s) > \"$logs/serves%d\" 2>&1 &\nserves $! \"$logs/serves%d\" %s\n", block.Text, i, i, quoted(block.Serves))
	}
	b.WriteString("trap - EXIT\n")
	return b.String()
}

// withServers puts a `pawl dev` in front of a page that starts none.
func withServers(blocks []pagetest.Block) []pagetest.Block {
	for _, block := range blocks {
		if block.Serves != "" && strings.Contains(block.Text, "pawl dev") {
			return blocks
		}
	}
	dev := pagetest.Block{Page: blocks[0].Page, Text: "pawl dev --throwaway\n", Serves: "worker runs"}
	return append([]pagetest.Block{dev}, blocks...)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
