package openfgacli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheEmbeddedPinIsThatOfDevtools(t *testing.T) {
	for name, embedded := range map[string][]byte{"go.mod": pinnedMod, "go.sum": pinnedSum} {
		pinned, err := os.ReadFile(filepath.Join("..", "..", "devtools", "openfga", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(pinned, embedded) {
			t.Errorf("the copy of internal/devtools/openfga/%s is old: run go generate ./internal/devstack/openfgacli", name)
		}
	}
	if !strings.Contains(string(pinnedMod), "github.com/openfga/openfga "+Version+" ") {
		t.Errorf("Version is %s, internal/devtools/openfga pins another", Version)
	}
}
