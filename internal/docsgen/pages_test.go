package docsgen

import (
	"encoding/json"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pawl-run/pawl/agent/agentfile"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/provider/price"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

// readers read the kinds of YAML that are not policies.
var readers = map[string]func(file string, text []byte) error{
	"http-tools":   reading(func(file string, text []byte) (httptool.Document, error) { return httptool.Read(file, text) }),
	"remote-tools": reading(remotetool.Read),
	"agent":        reading(agentfile.Read),
	"trigger":      reading(trigger.Read),
	"prices":       reading(price.Parse),
}

func reading[T any](read func(file string, text []byte) (T, error)) func(string, []byte) error {
	return func(file string, text []byte) error {
		_, err := read(file, text)
		return err
	}
}

// TestExamples: what a page shows is accepted by the code it is about. The words
// after ```json name the document of the contract that a block is; YAML is a
// policy, or what the word after it says.
func TestExamples(t *testing.T) {
	t.Parallel()
	compiled := map[string]*jsonschema.Schema{}
	for _, doc := range documents {
		compiled[doc.name] = compiledSchema(t, doc.name)
	}
	policies, seen := 0, map[string]int{}
	for _, page := range pagetest.Handbook(t, root) {
		for _, block := range page.Blocks(t) {
			text, kind := []byte(block.Text), block.Kind
			switch block.Language {
			case "yaml":
				if kind == "providers" {
					if _, err := broker.ReadProviders(text); err != nil {
						t.Errorf("%s: %v in\n%s", block, err, text)
					}
					continue
				}
				if kind == "mcp-servers" {
					if _, err := mcp.ReadServers(block.String(), text); err != nil {
						t.Errorf("%s: %v in\n%s", block, err, text)
					}
					continue
				}
				if read := readers[kind]; read != nil {
					if err := read(block.String(), text); err != nil {
						t.Errorf("%s: %v in\n%s", block, err, text)
					}
					continue
				}
				policies++
				if _, err := policy.Parse(block.String(), text); err != nil {
					t.Errorf("%s: %v in\n%s", block, err, text)
				}
			case "json":
				if !json.Valid(text) {
					t.Errorf("%s: not JSON:\n%s", block, text)
				}
				if kind == "" {
					continue
				}
				seen[kind]++
				if compiled[kind] == nil {
					t.Errorf("%s: there is no document %q", block, kind)
					continue
				}
				if problems := compiled[kind].Validate(text); problems != nil {
					t.Errorf("%s: %v in\n%s", block, problems, text)
				}
				if kind == "invocation" {
					if _, fault := hydrate.Decode(text); fault != nil {
						t.Errorf("%s: %v in\n%s", block, fault, text)
					}
				}
			case "go":
				if formatted, err := format.Source(text); err != nil || string(formatted) != block.Text {
					t.Errorf("%s: not formatted Go (%v):\n%s", block, err, text)
				}
			case "sh", "text", "python", "ts", "ini":
			default:
				t.Errorf("%s: a block of %q: name its language", block, block.Language)
			}
		}
	}
	if policies < 4 || len(seen) != len(documents) {
		t.Errorf("%d policies and examples of %v: some are not found", policies, seen)
	}
}

// TestWalkThrough: the ids that its commands spell out are the derived ones.
func TestWalkThrough(t *testing.T) {
	t.Parallel()
	_, walk, _ := strings.Cut(read(t, "docs/contract.md"), "\n## Walk-through\n")
	walk, _, _ = strings.Cut(walk, "\n## Go\n")
	for _, call := range []string{"call_1", "call_2"} {
		id := toolspec.Identity{TenantID: "acme", RunID: "run-7", ToolCallID: call}
		for _, want := range []string{id.WorkflowID(), toolspec.ApprovalID(id.InvocationID(), 1)} {
			if !strings.Contains(walk, want) {
				t.Errorf("the walk-through does not name %s", want)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinks: no page points to a file or a heading that is not there.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range slices.Concat(pagetest.Handbook(t, root), pagetest.Decisions(t, root)) {
		for _, m := range link.FindAllStringSubmatch(pagetest.Prose(page.Text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			if file = path.Join(path.Dir(page.Path), file); strings.HasPrefix(m[1], "#") {
				file = page.Path
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: link to %s: %v", page.Path, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", page.Path, m[1])
			}
		}
	}
}

// anchors are the names that GitHub gives to headings.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(pagetest.Prose(page), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, m[1]))
	}
	return names
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compiledSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(schemaPath(name))))
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.Compile(doc)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}
