package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/remote"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

const remoteDocument = `
format: 1
workers: [{name: billing, url: "https://billing.example.com", key: billing-1}]
tools:
  - id: billing__get
    worker: billing
    description: Reads a bill.
    version: "1"
    effect: read_only
    risk: low
    redaction: {allow: [""]}
    input: {type: object, properties: {}}
    result: text
`

// remoteKeys returns a file with the keys of these ids.
func remoteKeys(t *testing.T, ids ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "keys")
	var text strings.Builder
	for _, id := range ids {
		text.WriteString(id + " " + strings.Repeat("QUFB", 16) + "\n")
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRemoteToolsAreASource: the source of remote tools keeps the contract of sources.
func TestRemoteToolsAreASource(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tools.yaml")
	writeFile(t, name, remoteDocument)
	keys, err := remote.ReadKeys(remoteKeys(t, "billing-1"))
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, func(*testing.T) source.Source {
		return remoteSources(Config{RemoteTools: name}, keys, nil)[0]
	})
}

// TestRemoteToolsNeed: a tool is refused without the key of its remote worker, and without an address at which
// leases are redeemed.
func TestRemoteToolsNeed(t *testing.T) {
	t.Parallel()
	if _, err := readRemoteKeys(Config{RemoteTools: "x"}); err == nil || !strings.Contains(err.Error(), "PAWL_REMOTE_KEYS") {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "tools.yaml")
	read := func(doc string, leases *remote.Leases, ids ...string) ([]toolspec.Tool, error) {
		t.Helper()
		writeFile(t, name, doc)
		keys, err := remote.ReadKeys(remoteKeys(t, ids...))
		if err != nil {
			t.Fatal(err)
		}
		return readRemoteTools(name, keys, remote.New(keys), leases)
	}
	connected := strings.Replace(remoteDocument, "worker: billing", "worker: billing\n    connection: required", 1)
	if tools, err := read(remoteDocument, nil, "billing-1"); err != nil || len(tools) != 1 {
		t.Error(err)
	}
	if _, err := read(remoteDocument, nil, "other-1"); err == nil || !strings.Contains(err.Error(), "no key billing-1") {
		t.Error(err)
	}
	if _, err := read(connected, nil, "billing-1"); err == nil || !strings.Contains(err.Error(), "PAWL_REMOTE_LISTEN") {
		t.Error(err)
	}
	if tools, err := read(connected, &remote.Leases{}, "billing-1"); err != nil || !tools[0].Definition().RequiresConnection {
		t.Error(err)
	}
}
