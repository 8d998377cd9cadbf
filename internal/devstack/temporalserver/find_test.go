package temporalserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheEmbeddedPinIsThatOfDevtools(t *testing.T) {
	for name, embedded := range map[string][]byte{"go.mod": pinnedMod, "go.sum": pinnedSum} {
		pinned, err := os.ReadFile(filepath.Join("..", "..", "devtools", "temporalserver", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(pinned, embedded) {
			t.Errorf("the copy of internal/devtools/temporalserver/%s is old: run go generate ./internal/devstack/temporalserver", name)
		}
	}
	if !strings.Contains(string(pinnedMod), "go.temporal.io/server "+Version+" ") {
		t.Errorf("Version is %s, internal/devtools/temporalserver pins another", Version)
	}
}
