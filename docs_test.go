package pawl_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// invariants are the names that docs/invariants.md must list, each once: the
// promises, and the invariants of the specifications in their order.
var invariants = strings.Fields(`
	PROMISE_1 PROMISE_2 PROMISE_3 PROMISE_4 PROMISE_5 PROMISE_6 PROMISE_7 PROMISE_8
	TOOLS_VIA_TOOLRUNNER TOOLS_IN_PACKAGES TOOLS_IO_VIA_CAPABILITIES REDACTION_REQUIRED TOOLCALLID_STABLE
	LANGGRAPH_OWNS_GRAPHS STREAM_VIA_ASSISTANT_STREAM DECODER_ASSEMBLES_TOOLCALLS BINDING_IN_COMPOSITION_ROOT
	TOOL_SEMANTICS_CANONICAL WIRE_FORMATS_ARE_ADAPTERS OPENAI_WIRE_V1_SUPPORTED JSON_SCHEMA7_PARAMETERS
	NO_MANUAL_SCHEMA_DUPLICATION GOLDEN_FIXTURES_ENFORCE_WIRE_FORMAT TOOL_ID_NAMESPACED EFFECT_TYPED
	CATALOG_IS_EXPLICIT POLICY_IS_DATA DENY_BY_DEFAULT MCP_UNTRUSTED_BY_DEFAULT TOOL_ID_STABILITY
	TOOL_CONFIG_PROPAGATION TOOL_CONTRACTS_ARE_CANONICAL TOOL_SAME_PATH_ALL_EXECUTORS CONNECTION_ID_ONLY
	CONNECTION_ID_VIA_CONTEXT TOOL_SOURCE_RETURNS_BOUND_TOOL NO_SECRETS_IN_CONTEXT AUTH_VIA_CAPABILITY_INTERFACE
	GRANT_INTERSECTION_REQUIRED ARCH_SINGLE_EXECUTION_PATH TOOL_FILE_PURITY NO_DEFAULT_EXECUTABLE_CATALOG
	RUNTIME_BINDS_ALL AUTHZ_CHECK_BEFORE_TOOL_EXEC CONTEXT_HAS_IDENTITY CAPABILITY_OWNS_SECRETS
`)

var (
	invariantRow = regexp.MustCompile(`(?m)^\| ([A-Z][A-Z0-9_]+) \|([^|]*)\|([^|]*)\|$`)
	testName     = regexp.MustCompile("^`([a-z0-9/]+\\.(?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)(?:/([A-Za-z0-9_/-]+))?`$")
)

func TestInvariants(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("docs", "invariants.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range checkInvariants(string(page), testsOf(repository(t))) {
		t.Error(mistake)
	}
}

// checkInvariants compares the page with the names it must hold and the tests
// there are.
func checkInvariants(page string, tests map[string]bool) (mistakes []string) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	seen := map[string]int{}
	for _, row := range invariantRow.FindAllStringSubmatch(page, -1) {
		name, meaning, proof := row[1], strings.TrimSpace(row[2]), strings.TrimSpace(row[3])
		seen[name]++
		if !slices.Contains(invariants, name) {
			wrong("%s is no known invariant", name)
		}
		if meaning == "" {
			wrong("%s has no meaning", name)
		}
		if missing, ok := strings.CutPrefix(proof, "not yet:"); ok && strings.TrimSpace(missing) != "" {
			continue
		}
		for ref := range strings.SplitSeq(proof, ",") {
			m := testName.FindStringSubmatch(strings.TrimSpace(ref))
			switch {
			case m == nil:
				wrong("%s: %q is neither `package/path.TestName` nor not yet: what is missing", name, ref)
			case !tests[m[1]]:
				wrong("%s: there is no test %s", name, m[1])
			case strings.HasPrefix(m[1], "pawl.Test") && m[2] != "" && !isRule(m[2]):
				wrong("%s: there is no rule %s", name, m[2])
			}
		}
	}
	for _, name := range invariants {
		if seen[name] != 1 {
			wrong("%s is listed %d times, not once", name, seen[name])
		}
	}
	return mistakes
}

func isRule(name string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.name == name })
}

// testsOf lists the tests of the tree as package/path.TestName.
func testsOf(t *tree) map[string]bool {
	tests := map[string]bool{}
	for _, p := range t.packages {
		prefix := p.path
		if prefix == "." {
			prefix = "pawl"
		}
		for _, f := range p.files {
			if !f.test {
				continue
			}
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					tests[prefix+"."+fn.Name.Name] = true
				}
			}
		}
	}
	return tests
}

func TestInvariantsCatchMistakes(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for _, name := range invariants {
		fmt.Fprintf(&page, "| %s | Meaning. | `policy.TestDecide` |\n", name)
	}
	good := page.String()
	tests := map[string]bool{"policy.TestDecide": true, "pawl.TestArchitecture": true}
	if mistakes := checkInvariants(good, tests); len(mistakes) > 0 {
		t.Fatalf("a right page has mistakes: %q", mistakes)
	}
	row := "| PROMISE_2 | Meaning. | `policy.TestDecide` |"
	for replacement, want := range map[string]string{
		"":               "PROMISE_2 is listed 0 times",
		row + "\n" + row: "PROMISE_2 is listed 2 times",
		row + "\n| PROMISE_9 | Meaning. | `policy.TestDecide` |":      "PROMISE_9 is no known invariant",
		"| PROMISE_2 |  | `policy.TestDecide` |":                      "PROMISE_2 has no meaning",
		"| PROMISE_2 | Meaning. | not yet: |":                         "is neither",
		"| PROMISE_2 | Meaning. | — |":                                "is neither",
		"| PROMISE_2 | Meaning. | TestDecide |":                       "is neither",
		"| PROMISE_2 | Meaning. | `policy.TestGone` |":                "there is no test policy.TestGone",
		"| PROMISE_2 | Meaning. | `policy.TestDecide`, `policy.No` |": "is neither",
		"| PROMISE_2 | Meaning. | `pawl.TestArchitecture/no` |":       "there is no rule no",
		"| PROMISE_2 | Meaning. | `policy.TestDecide/any case` |":     "is neither",
	} {
		mistakes := checkInvariants(strings.Replace(good, row, replacement, 1), tests)
		if len(mistakes) != 1 || !strings.Contains(mistakes[0], want) {
			t.Errorf("%q: found %q, want one mistake with %q", replacement, mistakes, want)
		}
	}
	for _, proof := range []string{"not yet: broker", "`policy.TestDecide/rule/3`", "`policy.TestDecide`, `pawl.TestArchitecture/ranks`"} {
		page := strings.Replace(good, row, "| PROMISE_2 | Meaning. | "+proof+" |", 1)
		if mistakes := checkInvariants(page, tests); len(mistakes) > 0 {
			t.Errorf("%q is right, but: %q", proof, mistakes)
		}
	}
}

// TestInvariantNames guards the list itself against a slip of the hand.
func TestInvariantNames(t *testing.T) {
	t.Parallel()
	unique := map[string]bool{}
	for _, name := range invariants {
		unique[name] = true
	}
	if got, want := len(unique), 8+38; got != want {
		t.Errorf("%d names, want %d: eight promises and 38 invariants", got, want)
	}
}
