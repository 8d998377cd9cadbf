package arch_test

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

// invariants are the names that docs/internals/invariants.md must list, each once: the
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

// faults are the numbers of the cases that docs/internals/faults.md must list: all numbered
// cases of the design and of issues that a test can force now.
var faults = strings.Fields(`
	1 2 3 4 5 6 7 8 9 10 11 12 14 15 16 17 18 19 20 21 22 23 24 26 27 28 29 30 31 32 33 34 35 36 37 38 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55
	56 57 58 59 60 61 62 63 64 65 66 67 68 75 76 77 78 79
`)

// mostUntested bounds the cases of docs/internals/faults.md without a test.
const mostUntested = 3

var (
	invariantRow = regexp.MustCompile(`(?m)^\| ([A-Z][A-Z0-9_]+) \|([^|]*)\|([^|]*)\|$`)
	faultRow     = regexp.MustCompile(`(?m)^\| ([0-9]+) \|([^|]*)\|([^|]*)\|$`)
	testName     = regexp.MustCompile("^`([a-z0-9/]+\\.(?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)(?:/([A-Za-z0-9_/-]+))?`$")
)

func TestInvariants(t *testing.T) {
	t.Parallel()
	mistakes, _ := checkProofs(page(t, "internals/invariants.md"), invariantRow, invariants, testsOf(repository(t)))
	for _, mistake := range mistakes {
		t.Error(mistake)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	mistakes, untested := checkProofs(page(t, "internals/faults.md"), faultRow, faults, testsOf(repository(t)))
	for _, mistake := range mistakes {
		t.Error(mistake)
	}
	if untested > mostUntested {
		t.Errorf("%d cases have no test, want at most %d", untested, mostUntested)
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkProofs compares a page's table of name, meaning and proof with the names
// that it must hold and the tests that exist, and counts the rows without a test.
func checkProofs(page string, rows *regexp.Regexp, names []string, tests map[string]bool) (mistakes []string, untested int) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	seen := map[string]int{}
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		name, meaning, proof := row[1], strings.TrimSpace(row[2]), strings.TrimSpace(row[3])
		seen[name]++
		if !slices.Contains(names, name) {
			wrong("%s is not one of the names", name)
		}
		if meaning == "" {
			wrong("%s has no meaning", name)
		}
		if missing, ok := strings.CutPrefix(proof, "not yet:"); ok && strings.TrimSpace(missing) != "" {
			untested++
			continue
		}
		for ref := range strings.SplitSeq(proof, ",") {
			m := testName.FindStringSubmatch(strings.TrimSpace(ref))
			switch {
			case m == nil:
				wrong("%s: %q is neither `package/path.TestName` nor not yet: what is missing", name, ref)
			case !tests[m[1]]:
				wrong("%s: there is no test %s", name, m[1])
			case strings.HasPrefix(m[1], "internal/arch.Test") && m[2] != "" && !isRule(m[2]):
				wrong("%s: there is no rule %s", name, m[2])
			}
		}
	}
	for _, name := range names {
		if seen[name] != 1 {
			wrong("%s is listed %d times, not once", name, seen[name])
		}
	}
	return mistakes, untested
}

func isRule(name string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.name == name })
}

// testsOf lists the tests of the tree as package/path.TestName.
func testsOf(t *tree) map[string]bool {
	tests := map[string]bool{}
	for _, p := range t.packages {
		for _, f := range p.files {
			if !f.test {
				continue
			}
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					tests[p.path+"."+fn.Name.Name] = true
				}
			}
		}
	}
	return tests
}

func TestProofsCatchMistakes(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for _, name := range invariants {
		fmt.Fprintf(&page, "| %s | Meaning. | `policy.TestDecide` |\n", name)
	}
	good := page.String()
	tests := map[string]bool{"policy.TestDecide": true, "internal/arch.TestArchitecture": true}
	if mistakes, _ := checkProofs(good, invariantRow, invariants, tests); len(mistakes) > 0 {
		t.Fatalf("a right page has mistakes: %q", mistakes)
	}
	row := "| PROMISE_2 | Meaning. | `policy.TestDecide` |"
	for replacement, want := range map[string]string{
		"":               "PROMISE_2 is listed 0 times",
		row + "\n" + row: "PROMISE_2 is listed 2 times",
		row + "\n| PROMISE_9 | Meaning. | `policy.TestDecide` |":         "PROMISE_9 is not one of the names",
		"| PROMISE_2 |  | `policy.TestDecide` |":                         "PROMISE_2 has no meaning",
		"| PROMISE_2 | Meaning. | not yet: |":                            "is neither",
		"| PROMISE_2 | Meaning. | — |":                                   "is neither",
		"| PROMISE_2 | Meaning. | TestDecide |":                          "is neither",
		"| PROMISE_2 | Meaning. | `policy.TestGone` |":                   "there is no test policy.TestGone",
		"| PROMISE_2 | Meaning. | `policy.TestDecide`, `policy.No` |":    "is neither",
		"| PROMISE_2 | Meaning. | `internal/arch.TestArchitecture/no` |": "there is no rule no",
		"| PROMISE_2 | Meaning. | `policy.TestDecide/any case` |":        "is neither",
	} {
		mistakes, _ := checkProofs(strings.Replace(good, row, replacement, 1), invariantRow, invariants, tests)
		if len(mistakes) != 1 || !strings.Contains(mistakes[0], want) {
			t.Errorf("%q: found %q, want one mistake with %q", replacement, mistakes, want)
		}
	}
	for _, proof := range []string{"not yet: broker", "`policy.TestDecide/rule/3`", "`policy.TestDecide`, `internal/arch.TestArchitecture/ranks`"} {
		page := strings.Replace(good, row, "| PROMISE_2 | Meaning. | "+proof+" |", 1)
		mistakes, untested := checkProofs(page, invariantRow, invariants, tests)
		if len(mistakes) > 0 {
			t.Errorf("%q is right, but: %q", proof, mistakes)
		}
		if want := strings.Count(proof, "not yet"); untested != want {
			t.Errorf("%q counts %d times as untested, want %d", proof, untested, want)
		}
	}
}

// TestInvariantNames checks the number of names in the list invariants.
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
