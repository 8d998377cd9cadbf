package pages

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

// root is the root directory of the repository, relative to this package.
const root = "../../.."

// mostNotRun bounds the number of blocks that no test runs. A comment in front of each such block says why: for example, the block needs an account at a
// service, a person at a browser, Docker, the rights of root, or minutes.
const mostNotRun = 23

// TestShellRuns runs the shell blocks of a page unchanged, one after the other in one shell. The shell has a new directory and a running `pawl dev`. If the
// page does not start one itself, the test does. A block fails with the first command that fails.
//
// Comments in front of a block say what the block needs (see package pagetest): commands that run before it in the same shell, or the text that a program
// prints when it is ready and then runs until the end of the page. The environment has CHECKOUT, the directory of the repository, and the programs `pawl`
// and `temporal` and those of Postgres. The function `shown` prints a file that the reader saves: the last block in front of this one with the given words
// behind its fence.
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

// TestShellRunsFindsMistakes: a block with a failing command, or with a program that ends instead of serving, fails with the place of the block.
func TestShellRunsFindsMistakes(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	serves := pagetest.Block{Page: "docs/a.md", Line: 3, Language: "sh", Text: "pawl dev\n", Setup: "pawl() { echo ready; while :; do sleep 1; done; }\n", Serves: "ready"}
	page := "CHECKOUT=$PWD; mkdir docs; printf '```%s\\n%s\\n```\\n' yaml one 'yaml kind' two json 3 > docs/a.md\n"
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
		{pagetest.Block{Text: "[ \"$(cat file)\" = two ]\n", Setup: page + "shown 'yaml kind' > file\n"}, ""},
		{pagetest.Block{Text: "true\n", Setup: page + "shown json > file\n"}, "docs/a.md:7"},
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

// build compiles the pawl program without changes, as a user would.
func build(t *testing.T) (dir string) {
	t.Helper()
	for _, needed := range []string{"bash", "curl", "jq", "openssl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Fatalf("the pages use %s: %v", needed, err)
		}
	}
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "pawl"), "./cmd/pawl")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return dir
}

// prologue makes the shell stop at the first command that fails. Its function serves waits until a program has printed that it is ready.
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
shown() {
  awk -v end="${place##*:}" -v fence="$1" '
    NR >= end { exit }
    sub(/^\140\140\140/, "") { inside = $0 == fence; if (inside) text = ""; next }
    inside { text = text $0 "\n" }
    END { printf "%s", text; exit text == "" }
  ' "$CHECKOUT/${place%:*}"
}
`

// script returns the script with all blocks of a page.
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

// startsDev matches the command that starts the servers, but not `pawl dev model` or `pawl dev env`.
var startsDev = regexp.MustCompile(`(?m)\bpawl dev( -|$)`)

// withServers adds a block with `pawl dev` in front of the blocks of a page that does not start it.
func withServers(blocks []pagetest.Block) []pagetest.Block {
	for _, block := range blocks {
		if block.Serves != "" && startsDev.MatchString(block.Text) || startsDev.MatchString(block.Setup) {
			return blocks
		}
	}
	dev := pagetest.Block{Page: blocks[0].Page, Text: "pawl dev --throwaway\n", Serves: "worker runs"}
	return append([]pagetest.Block{dev}, blocks...)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
