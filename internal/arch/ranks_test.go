package arch_test

import (
	"fmt"
	"go/ast"
	"os"
	"strings"
	"testing"
)

// ranks has the packages of the module, from low to high. A package may import only packages
// of lower ranks. A path with /... is a tree, whose packages may import each other. A path
// without /... is one package. Entries of one rank may not import each other.
var ranks = [][]string{
	{"."}, // documentation only
	{"internal/lru", "internal/room", "internal/traceparent", "deploy/monitoring"},
	{"toolspec", "toolspec/strictjson"},
	{"toolspec/jsonschema", "toolspec/errs", "toolspec/output", "toolspec/truncate", "toolspec/weburl", "toolspec/sanitize"},
	{"toolspec/schema", "toolspec/output/read"},
	{"toolspec/capability"},
	{"toolspec/provide"},
	{"toolspec/hook", "toolspec/hydrate", "toolspec/wire/..."},
	{"toolspec/source"},
	{"toolspec/catalog", "toolspec/legacy", "toolspec/conversation"},
	{"provider"},
	{"agent"},
	{"proof", "tools/...", "migrations/...", "policy/authz/...", "policy/suggest"},
	// A policy is read, its conditions are compiled, it decides, and people review it.
	{"policy/strictyaml", "policy/script"},
	{"policy/document", "toolspec/httptool", "toolspec/remotetool", "provider/price"},
	{"policy/condition"},
	{"policy", "agent/agentfile", "agent/trigger"},
	{"policy/review"},
	{"broker/..."},
	{"workflows/contract"},
	// Runs of agents use client and client/turn, as programs of users do.
	{"client"},
	{"client/turn"},
	{"workflows/steps", "activities/heartbeat", "activities/judge"},
	{"activities/answer", "activities/providers", "activities/output"},
	{"activities/stage", "activities/preview"},
	{"workflows/envelope"},
	// The parts of a call do not import each other.
	{
		"workflows/gate", "workflows/hydrate", "workflows/approval", "workflows/capacity", "workflows/attempt", "workflows/output",
		"workflows/settle", "workflows/upkeep", "activities/approval", "activities/hydrate", "activities/upkeep",
		"activities/gate", "activities/capacity", "activities/cache", "activities/admit", "activities/attempt", "activities/connection",
		"activities/settle", "activities/join", "pawlflow", "activities/agent",
	},
	// A run of an agent starts calls, and knows nothing of their inside.
	{"workflows/agent"},
	// The workflow and its activities know each other by the contract alone.
	{"workflows", "workflows/envtest", "workflows/historytest", "activities/..."},
	{"client/uistream"},
	{"client/runhttp", "client/triggerhttp"},
	{"internal/secretfile", "internal/workerkey", "internal/filelock", "internal/bucket/...", "internal/buildinfo", "internal/audit"},
	{"internal/postgres/db"},
	{"internal/postgres/recheck"},
	// The stores do not import each other.
	{
		"internal/postgres/record", "internal/postgres/policies", "internal/postgres/connections", "internal/postgres/identities",
		"internal/postgres/catalog", "internal/postgres/outbox", "internal/postgres/reads", "internal/postgres/outputs", "internal/postgres/runs", "internal/postgres/memories",
		"internal/postgres/registrations", "internal/postgres/agents", "internal/postgres/triggers", "internal/postgres/audit",
	},
	// Adapters, each the one owner of its dependency.
	{
		"internal/postgres", "internal/clock/...", "internal/files/...", "internal/sandbox",
		"internal/codec/...", "internal/notify/...", "internal/openfga/...", "internal/submitter/...", "internal/seal/...",
		"internal/verify/...", "internal/oidc/...", "internal/web", "internal/mcp", "internal/openapi", "internal/remote",
	},
	{"internal/registered", "internal/filewatch", "internal/health", "internal/telemetry", "internal/report"},
	{"internal/sources"},
	{"internal/presence"},
	{"internal/devstate"},
	{"client/postgres", "client/registry"}, // for programs that may read the database; package client links no driver
	{"worker/..."},
	{"internal/cli/app"},
	// Commands of different subjects do not import each other.
	{
		"internal/cli/calls", "internal/cli/approvals", "internal/cli/policies", "internal/cli/connections", "internal/cli/keys",
		"internal/cli/tools", "internal/cli/operations", "internal/cli/outputs", "internal/cli/memory", "internal/cli/mcp", "internal/cli/agents", "internal/cli/triggers", "internal/cli/audit",
		"internal/cli/reconcile",
	},
	{"internal/cli/agentruns"}, // it imports internal/cli/approvals, because people decide during a run
	{"internal/cli"},
	{"command"},
	// For development only: no program for production links them.
	{"internal/devstack/...", "internal/modelserver"},
	{"internal/bench/...", "internal/faultkit/...", "internal/attack"},
	{"internal/devcli"},
	{"internal/arch"},
	{"internal/docsgen/..."}, // asks the CLI for its help
	{"cmd/..."},
	{"examples/..."}, // programs of users: a fence allows only packages that users can import
}

// rank returns the line of a package in the table and the entry that places it.
func rank(pkgPath string) (line int, entry string, ok bool) {
	for i, entries := range ranks {
		for _, e := range entries {
			if root, tree := strings.CutSuffix(e, "/..."); pkgPath == root || tree && within(pkgPath, root) {
				return i, e, true
			}
		}
	}
	return 0, "", false
}

// everyPackageHasARank refuses a package that is not in the table.
func everyPackageHasARank(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if _, _, ok := rank(p.path); !ok {
			found = append(found, violation{p.path, "has no rank: place it in the table of internal/arch/ranks_test.go"})
		}
	}
	return found
}

// TestArchitectureIsDescribed: docs/architecture.md has a line for every entry of the
// table, by the same name.
func TestArchitectureIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, entries := range ranks[1:] {
		for _, entry := range entries {
			if _, err := os.Stat(strings.TrimSuffix(entry, "/...")); err != nil {
				t.Errorf("the table of ranks names %s, which is no package", entry)
			}
			if !supports(entry) && !strings.Contains(string(page), "`"+entry+"`") {
				t.Errorf("docs/architecture.md has no line for %s", entry)
			}
		}
	}
}

// importsOnlyGoDown refuses imports of packages that do not rank lower. Tests may import
// any package, because they are not linked into a program.
func importsOnlyGoDown(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		from, tree, ok := rank(p.path)
		if !ok {
			continue // everyPackageHasARank reports it
		}
		t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
			target, ok := ours(imported)
			if !ok || supports(target) {
				return
			}
			to, other, ok := rank(target)
			if !ok || to < from || tree == other {
				return
			}
			found = append(found, violation{t.at(spec.Pos()), fmt.Sprintf("%s may not import %s, which does not rank below it", p.path, target)})
		})
	}
	return found
}

// testSupportStaysInTests keeps packages such as postgrestest, and package testing, out
// of programs.
func testSupportStaysInTests(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
			target, isOurs := ours(imported)
			if isOurs && supports(target) || imported == "testing" {
				found = append(found, violation{t.at(spec.Pos()), imported + " is for tests and packages named …test only"})
			}
		})
	}
	return found
}
