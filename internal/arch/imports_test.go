package arch_test

import (
	"fmt"
	"go/ast"
	"slices"
)

// fence limits what a tree of packages may import, beyond the ranks.
type fence struct {
	tree string
	// alone limits the fence to the package itself.
	alone bool
	// ours lists the only packages of this module that it may import, and third the
	// only other modules. nil means that only the ranks decide.
	ours, third []string
	// not lists imports that are refused although ours or third allows them.
	not []string
	why string
}

var fences = []fence{
	{
		tree: "toolspec", alone: true, ours: []string{}, third: []string{},
		why: "the vocabulary is pure: the standard library only",
	},
	{
		tree: "toolspec/errs", ours: []string{}, third: []string{},
		why: "every package may import it",
	},
	{
		tree: "toolspec/strictjson", ours: []string{}, third: []string{"github.com/go-json-experiment/json"},
		why: "it reads JSON, and knows nothing of what the JSON is about",
	},
	{
		tree: "toolspec/jsonschema", ours: []string{"toolspec/strictjson"}, third: []string{"github.com/kaptinlin/jsonschema"},
		why: "it judges any JSON by any schema, and knows nothing of tools",
	},
	{
		tree: "toolspec/hook",
		not:  []string{module + "/toolspec/schema", module + "/toolspec/jsonschema"},
		why:  "workflows import hook, and a schema library is not deterministic code",
	},
	{
		tree: "toolspec/wire",
		ours: []string{"toolspec", "toolspec/wire"}, third: []string{"github.com/go-json-experiment/json"},
		not: []string{
			"os", "net/http", "net/rpc", "database/sql", "syscall", "math/rand", "crypto/rand", "time",
		},
		why: "formats are pure, and no provider's client is part of the core (WIRE_FORMATS_ARE_ADAPTERS)",
	},
	{
		tree: "client/uistream", ours: []string{"toolspec"}, third: []string{},
		why: "it maps events to parts, and knows nothing of where events come from",
	},
	{
		tree:  "tools",
		ours:  []string{"toolspec", "toolspec/capability", "toolspec/output", "toolspec/output/read"},
		third: []string{"golang.org/x/text/encoding", "github.com/aymanbagabas/go-udiff"}, // texts in, text out
		not: []string{
			"os", "net/http", "net/rpc", "net/smtp", "database/sql", "syscall", "plugin", "unsafe", "io/ioutil",
		},
		why: "tools do I/O through capabilities only (TOOLS_IO_VIA_CAPABILITIES)",
	},
	{
		tree: "workflows",
		ours: []string{"toolspec", "toolspec/errs", "toolspec/hook", "agent", "pawlflow"}, third: []string{"go.temporal.io/sdk", "go.temporal.io/api"},
		not: []string{
			"os", "net/http", "database/sql", "syscall", "math/rand", "crypto/rand", "go.temporal.io/sdk/client",
		},
		why: "workflow code is deterministic and replayed",
	},
	{
		tree: "pawlflow",
		ours: []string{"toolspec", "toolspec/hydrate", "workflows/contract"}, third: []string{"go.temporal.io/sdk", "go.temporal.io/api"},
		not: []string{
			"os", "net/http", "database/sql", "syscall", "math/rand", "crypto/rand", "go.temporal.io/sdk/client",
		},
		why: "it runs in workflows of users, which are deterministic and replayed",
	},
	{
		tree: "activities",
		not: []string{
			module + "/workflows/steps", module + "/workflows/envelope", module + "/workflows/gate", module + "/workflows/hydrate",
			module + "/workflows/approval", module + "/workflows/capacity", module + "/workflows/attempt", module + "/workflows/output",
			module + "/workflows/settle", module + "/workflows/upkeep",
		},
		why: "activities know the workflow by its contract alone",
	},
	{
		tree: "activities",
		not:  []string{module + "/policy/review"},
		why:  "a call is judged by package policy; reviews of a policy are for people",
	},
	{
		tree: "examples",
		ours: []string{
			"toolspec", "toolspec/errs", "toolspec/hook", "toolspec/capability", "toolspec/catalog", "toolspec/legacy", "toolspec/provide", "toolspec/source",
			"client", "client/turn", "client/postgres", "client/registry", "client/runhttp", "worker", "provider", "pawlflow",
			"toolspec/wire", "toolspec/wire/openai", "toolspec/wire/responses", "toolspec/wire/anthropic", "toolspec/wire/ollama", "toolspec/wire/gemini",
			"toolspec/conversation",
		},
		why: "an example is what a user can write: copy it anywhere and it compiles",
	},
}

// noSockets is refused by each fence that refuses net/http. It means package net alone,
// because net/url and net/netip do no I/O.
const noSockets = "net"

func fencesHold(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		for _, f := range fences {
			if p.path != f.tree && (f.alone || !within(p.path, f.tree)) {
				continue
			}
			t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
				if !f.allows(imported) {
					found = append(found, violation{t.at(spec.Pos()), fmt.Sprintf("%s may not import %s: %s", p.path, imported, f.why)})
				}
			})
		}
	}
	return found
}

func (f fence) allows(imported string) bool {
	if within(imported, f.not...) || imported == noSockets && slices.Contains(f.not, "net/http") {
		return false
	}
	if target, ok := ours(imported); ok {
		return f.ours == nil || slices.Contains(f.ours, target) || !f.alone && within(target, f.tree)
	}
	return standard(imported) || f.third == nil || within(imported, f.third...)
}

// owners are the trees that may import a dependency, so that its replacement changes
// few places. A module that ends in / means all modules of an organisation. A module without trees is
// for nobody.
var owners = []struct {
	module string
	trees  []string
}{
	// Frameworks for agents, and clients of model providers: the loop is workflows/agent, and requests are those of provider.
	{"github.com/tmc/langchaingo", nil},
	{"github.com/cloudwego/", nil},
	{"github.com/firebase/genkit", nil},
	{"github.com/anthropics/", nil},
	{"github.com/openai/", nil},
	{"github.com/ollama/", nil},
	{"google.golang.org/genai", nil},
	{"google.golang.org/adk", nil},
	{"github.com/kaptinlin/", []string{"toolspec/jsonschema"}},
	{"github.com/invopop/jsonschema", []string{"toolspec/schema", "internal/docsgen"}},
	{"github.com/kljensen/snowball", []string{"toolspec/catalog"}},
	{"cel.dev/", []string{"policy/condition"}},
	{"github.com/google/cel-go", []string{"policy/condition"}},
	{"mvdan.cc/sh", []string{"policy/script"}},
	{"go.yaml.in/yaml", []string{"policy/strictyaml", "policy/document", "policy/review", "broker", "internal/mcp", "toolspec/httptool", "toolspec/remotetool", "internal/openapi", "provider/price", "agent/agentfile", "agent/trigger"}},
	{"github.com/dunglas/httpsfv", []string{"internal/remote"}},
	{"github.com/pb33f/", nil},
	{"gopkg.in/yaml.v2", []string{"policy/strictyaml"}},
	{"gopkg.in/yaml.v3", []string{"policy/strictyaml"}},
	{"github.com/goccy/go-yaml", []string{"policy/strictyaml"}},
	{"sigs.k8s.io/yaml", []string{"policy/strictyaml"}},
	{"github.com/jackc/", []string{"internal/postgres", "internal/devstack", "internal/bench"}},
	{"github.com/pressly/goose", []string{"internal/postgres", "migrations"}},
	{"github.com/tink-crypto/", []string{"internal/seal"}},
	{"code.dny.dev/ssrf", []string{"broker", "internal/web"}},
	{"codeberg.org/readeck/", []string{"internal/web"}},
	{"github.com/JohannesKaufmann/", []string{"internal/web"}},
	{"github.com/klippa-app/", []string{"internal/web"}},
	{"github.com/tetratelabs/", []string{"internal/web"}},
	{"golang.org/x/oauth2", []string{"broker"}},
	{"github.com/golang-jwt/", []string{"proof", "client", "internal/submitter"}},
	{"github.com/coreos/go-oidc", []string{"internal/oidc"}},
	{"github.com/aws/", []string{"internal/bucket"}},
	{"github.com/go-jose/", []string{"internal/oidc"}},
	{"github.com/modelcontextprotocol/", []string{"internal/mcp", "internal/bench"}},
	{"go.opentelemetry.io/", []string{"internal/telemetry", "internal/traceparent"}},
	{"github.com/prometheus/", []string{"internal/telemetry"}},
	{"go.uber.org/fx", []string{"worker"}},
	{"go.uber.org/dig", []string{"worker"}},
	{"github.com/spf13/", []string{"internal/cli", "internal/devcli", "cmd"}},
	{"go.temporal.io/", []string{
		"workflows", "pawlflow", "activities", "client", "internal/codec", "internal/telemetry", "internal/verify", "internal/health", "worker",
		"internal/devstack", "internal/bench", "internal/cli", "internal/devcli", "internal/faultkit", "examples/ownloop",
	}},
}

func dependenciesHaveOwners(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
			for _, o := range owners {
				if within(imported, o.module) && !within(p.path, o.trees...) {
					found = append(found, violation{t.at(spec.Pos()), fmt.Sprintf("%s may not import %s; only %v may", p.path, imported, o.trees)})
				}
			}
		})
	}
	return found
}

// light names the packages that a program links without the parts of a worker: no import of them,
// direct or through another package of this module, leads to a module in heavy.
var (
	light = []string{"client", "client/turn", "client/runhttp", "pawlflow"}
	heavy = []string{
		"go.uber.org/fx", "go.uber.org/dig", "github.com/jackc", "github.com/pressly/goose", "cel.dev", "github.com/google/cel-go",
		"github.com/aws",
	}
)

func lightPackagesLinkNoServers(t *tree) (found []violation) {
	packages := map[string]*pkg{}
	for _, p := range t.shipped() {
		packages[p.path] = p
	}
	for _, name := range light {
		seen := map[string]bool{}
		var visit func(pkgPath string)
		visit = func(pkgPath string) {
			p, known := packages[pkgPath]
			if !known || seen[pkgPath] {
				return
			}
			seen[pkgPath] = true
			t.eachImport(p.code(), func(_ *file, spec *ast.ImportSpec, imported string) {
				if within(imported, heavy...) {
					found = append(found, violation{t.at(spec.Pos()), fmt.Sprintf("%s may not link %s, which %s imports", name, imported, pkgPath)})
				}
				if target, isOurs := ours(imported); isOurs {
					visit(target)
				}
			})
		}
		visit(name)
	}
	return found
}
