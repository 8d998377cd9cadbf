package docsgen

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// root is the repository's, seen from here.
const root = "../.."

var update = flag.Bool("update", false, "rewrite the generated parts of docs/")

// runner calls tools as a worker does. A call that fails ends the test.
func runner(t *testing.T) Runner {
	return func(tool toolspec.Tool, args string) json.RawMessage {
		got := pawltest.Call{Tool: tool, Args: args}.Run(t)
		if !got.Result.OK {
			t.Fatalf("%s %s: %s", tool.Definition().ID, args, got.Result.SafeMessage)
		}
		return got.Value
	}
}

// TestGenerated fails where docs/ does not say what the code says; run it with
// -update then, and read what has changed.
func TestGenerated(t *testing.T) {
	t.Setenv("PAWL_TENANT", "")
	t.Setenv("PAWL_APPROVER", "")
	files, err := Build(root, runner(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if string(got) != want {
			t.Errorf("%s is not what the code says: go test ./internal/docsgen -update", name)
		}
	}
	onDisk, err := filepath.Glob(filepath.Join(root, "docs", "schema", "*"))
	if err != nil {
		t.Fatal(err)
	}
	// Besides the documents of the contract there are a policy, whose schema is generated, and a provider, whose schema
	// is kept by hand; package broker holds it to its parser.
	const others = 2
	if len(onDisk) != len(documents)+others {
		t.Errorf("docs/schema holds %q; %d schemas are generated", onDisk, len(documents)+1)
	}
}

// TestGeneratedIsStable: what depends on the person or the moment does not reach
// the pages.
func TestGeneratedIsStable(t *testing.T) {
	before, err := Build(root, runner(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_TENANT", "someone-else")
	t.Setenv("PAWL_APPROVER", "user:someone-else")
	t.Setenv("HOME", t.TempDir())
	after, err := Build(root, runner(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s depends on the environment", name)
		}
	}
}

func TestFillRefusesLostMarks(t *testing.T) {
	t.Parallel()
	blocks := map[string]string{"a": "text"}
	good := "x\n<!-- generated: a -->\nold\n<!-- end: a -->\ny\n"
	filled, err := fill("p.md", good, []string{"a"}, blocks)
	if want := "x\n<!-- generated: a -->\n\ntext\n\n<!-- end: a -->\ny\n"; err != nil || filled != want {
		t.Fatalf("got %q, %v", filled, err)
	}
	again, err := fill("p.md", filled, []string{"a"}, blocks)
	if err != nil || again != filled {
		t.Errorf("filled twice: %q, %v", again, err)
	}
	for _, page := range []string{"x", "<!-- generated: a -->", good + good, good + "<!-- generated: b -->"} {
		if _, err := fill("p.md", page, []string{"a"}, blocks); err == nil {
			t.Errorf("%q was filled", page)
		}
	}
	if _, err := fill("p.md", good, []string{"b"}, blocks); err == nil {
		t.Error("a block that is not there was filled in")
	}
}

// TestPages: every page with generated parts is a page that the tests of pages read.
func TestPages(t *testing.T) {
	t.Parallel()
	for page := range pages {
		if !slices.ContainsFunc(pagetest.Handbook(t, root), func(p pagetest.Page) bool { return p.Path == page }) {
			t.Errorf("there is no page %s", page)
		}
	}
}
