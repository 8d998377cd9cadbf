package remotetool_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

const document = `
format: 1
workers:
  - {name: billing, url: "https://billing.example.com/pawl", key: billing-1}
tools:
  - id: billing__pay
    worker: billing
    title: Pay
    description: Pays an invoice.
    version: "1"
    effect: external_side_effect
    risk: high
    probe: true
    fences: true
    timeoutSeconds: 20
    maxArgsBytes: 100
    maxResultBytes: 200
    tags: [money]
    redaction: {allow: [/state], maskInput: [/note]}
    input: {type: object, properties: {note: {type: string}}}
    output: {type: object, properties: {state: {type: string}}}
`

// nobody sends nothing.
type nobody struct{}

func (nobody) Send(context.Context, remotetool.Worker, remotetool.ToolRequest) (remotetool.ToolAnswer, error) {
	return remotetool.ToolAnswer{}, &remotetool.SendError{}
}

// TestBind: a document becomes tools that a registry takes.
func TestBind(t *testing.T) {
	t.Parallel()
	tools := bind(t, document)
	def := tools[0].Definition()
	if def.ID != "billing__pay" || def.ProvidedBy != "billing" || def.MaxAttempts != 3 || !def.Fences || !tools[0].HasProbe() || !strings.HasPrefix(def.Version, "1+") ||
		def.Timeout.Seconds() != 20 || def.Redaction.MaskInput[0] != "/note" {
		t.Errorf("%+v", def)
	}
	caps, err := toolspec.NewCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.NewRegistry(caps).Add("remote", tools...); err != nil {
		t.Error(err)
	}
	if _, sum, _ := strings.Cut(def.Version, "+"); len(sum) != 2*sha256.Size {
		t.Errorf("the version %s has not the whole digest", def.Version)
	}
	moved := bind(t, strings.Replace(document, "billing.example.com", "other.example.com", 1))
	if moved[0].Definition().Version == def.Version {
		t.Error("a tool at another address has the same version, so an approval of it would count")
	}
}

func bind(t *testing.T, text string) []toolspec.Tool {
	t.Helper()
	d, err := remotetool.Read("tools.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d.Bind(nobody{}, nil)
}

// TestReadRefuses: each fault has the path of its key.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, text, path, fault string }{
		"another format":        {"format: 1", "format: 2", "format", "1 to 1"},
		"plain http":            {"https://billing.example.com/pawl", "http://billing.example.com/pawl", "workers[0]", "https"},
		"plain http to an ip":   {"https://billing.example.com/pawl", "http://10.0.0.1/pawl", "workers[0]", "https"},
		"a password":            {"https://billing", "https://user:pw@billing", "workers[0]", "no password"},
		"a query":               {"/pawl\"", "/pawl?token=x\"", "workers[0]", "no query"},
		"another scheme":        {"https://billing", "ftp://billing", "workers[0]", "address such as"},
		"a name of a key":       {"key: billing-1", "key: \"bill ing\"", "workers[0]", "key must"},
		"two workers":           {"tools:\n", "  - {name: billing, url: \"https://a.example.com\", key: k}\ntools:\n", "workers[1]", "two workers"},
		"no such worker":        {"worker: billing", "worker: mail", "tools[0]", "no worker"},
		"a connection":          {"worker: billing", "worker: billing\n    connection: maybe", "tools[0].connection", "required or none"},
		"scopes":                {"worker: billing", "worker: billing\n    scopes: [read]", "tools[0]", "connection: required"},
		"an unknown key":        {"worker: billing", "worker: billing\n    token: x", "tools[0].token", "not known"},
		"no output":             {"    output: {type: object, properties: {state: {type: string}}}\n", "", "tools[0]", "output is missing"},
		"output of a text":      {"probe: true", "probe: true\n    result: text", "tools[0]", "json only"},
		"fences without probe":  {"probe: true", "probe: false", "tools[0]", "probe: true"},
		"a probe of a read":     {"effect: external_side_effect", "effect: read_only", "tools[0]", "have an effect"},
		"another kind of value": {"probe: true", "probe: true\n    result: bytes", "tools[0].result", "json, text or parts"},
		"an id":                 {"id: billing__pay", "id: pay", "tools[0].id", "__"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(document, c.old, c.text, 1)
			_, err := remotetool.Read("tools.yaml", []byte(text))
			var faults strictyaml.Errors
			if !errors.As(err, &faults) || faults[0].Path != c.path || !strings.Contains(faults[0].Reason, c.fault) || text == document {
				t.Errorf("%v", err)
			}
		})
	}
}
