package docsgen

import (
	"encoding/json"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
)

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?\n)```$")

// TestExamples: what a page shows is accepted by the code it is about. The words
// after ```json name the document of the contract that a block is; YAML is a
// policy, or what the word after it says.
func TestExamples(t *testing.T) {
	t.Parallel()
	compiled := map[string]*schema.Schema{}
	for _, doc := range documents {
		compiled[doc.name] = compiledSchema(t, doc.name)
	}
	policies, seen := 0, map[string]int{}
	for _, page := range handbook(t) {
		for _, block := range fence.FindAllStringSubmatch(read(t, page), -1) {
			language, kind, _ := strings.Cut(block[1], " ")
			switch language {
			case "yaml":
				if kind == "providers" {
					if _, err := broker.ReadProviders([]byte(block[2])); err != nil {
						t.Errorf("%s: %v in\n%s", page, err, block[2])
					}
					continue
				}
				policies++
				if _, err := policy.Parse(page, []byte(block[2])); err != nil {
					t.Errorf("%s: %v in\n%s", page, err, block[2])
				}
			case "json":
				if !json.Valid([]byte(block[2])) {
					t.Errorf("%s: not JSON:\n%s", page, block[2])
				}
				if kind == "" {
					continue
				}
				seen[kind]++
				if compiled[kind] == nil {
					t.Errorf("%s: there is no document %q", page, kind)
					continue
				}
				if problems := compiled[kind].Validate([]byte(block[2])); problems != nil {
					t.Errorf("%s: %v in\n%s", page, problems, block[2])
				}
				if kind == "invocation" {
					if _, fault := hydrate.Decode([]byte(block[2])); fault != nil {
						t.Errorf("%s: %v in\n%s", page, fault, block[2])
					}
				}
			case "go":
				if formatted, err := format.Source([]byte(block[2])); err != nil || string(formatted) != block[2] {
					t.Errorf("%s: not formatted Go (%v):\n%s", page, err, block[2])
				}
			case "sh", "text", "python", "ts":
			default:
				t.Errorf("%s: a block of %q: name its language", page, block[1])
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
	_, walk, _ := strings.Cut(read(t, "contract.md"), "\n## Walk-through\n")
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
	for _, page := range handbook(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			if file == "" {
				file = page
			}
			if _, err := os.Stat(filepath.Join(root, "docs", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names that GitHub gives to headings.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
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
	text, err := os.ReadFile(filepath.Join(root, "docs", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compiledSchema(t *testing.T, name string) *schema.Schema {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(schemaPath(name))))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(doc)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}
