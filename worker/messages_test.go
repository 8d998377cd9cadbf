package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestAWrongNamespaceIsNamed: a wrong namespace is not reported as missing search attributes.
func TestAWrongNamespaceIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := needNamespace(t.Context(), w.temporal, "nowhere")
	if err == nil || !strings.Contains(err.Error(), `no namespace "nowhere"`) || !strings.Contains(err.Error(), "TEMPORAL_NAMESPACE") || strings.Contains(err.Error(), "search attributes") {
		t.Errorf("of a wrong namespace it says %v", err)
	}
	if err := needNamespace(t.Context(), w.temporal, w.config.Temporal.Namespace); err != nil {
		t.Errorf("of the right one: %v", err)
	}
}

// TestStartFaultsOfTheKeyRing: each fault of the key ring ends the start with its message, as in TestStartFaultsOfTheDatabase. A tool that
// uses connections needs a ring.
func TestStartFaultsOfTheKeyRing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ring, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	text, err := ring.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ring.Wrap("test-kms://key")
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := locked.Encode(plainly{})
	if err != nil {
		t.Fatal(err)
	}
	uses := Tools(toolspec.Define(toolspec.Definition{
		ID: "test__uses", Description: "Uses a connection.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Capabilities: []toolspec.CapabilityName{capability.ClientsKey.Name()}, RequiresConnection: true, Redaction: toolspec.Redaction{Allow: []string{"/a"}},
	}, func(context.Context, struct{}, toolspec.Call) (struct {
		A string `json:"a"`
	}, error) {
		panic("it is not called")
	}))
	for name, c := range map[string]struct {
		ring KeyRing
		says string
	}{
		"no ring":          {KeyRing{}, `tool "test__uses" uses connections and needs a key ring: set PAWL_KEYRING_FILE (create one with ` + "`pawl keyring new FILE`)"},
		"no file":          {KeyRing{File: "/nowhere/ring.json"}, "key ring: open /nowhere/ring.json: no such file or directory: correct PAWL_KEYRING_FILE"},
		"another file":     {KeyRing{File: w.file("ring.json", `{"keys":"canary"}`)}, "ring.json: this is not a key ring: create one with `pawl keyring new FILE`"},
		"another text":     {KeyRing{Text: []byte("canary")}, "this is not a key ring: create one with `pawl keyring new FILE`"},
		"two rings":        {KeyRing{File: w.file("ring.json", string(text)), Text: text}, "PAWL_KEYRING_FILE and PAWL_KEYRING are both set"},
		"wrapped by a KMS": {KeyRing{Text: wrapped}, "the key ring is wrapped by test-kms://key, and this program speaks with no KMS: use pawl-kms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *w
			own.t, own.log = t, &devstacktest.Log{}
			own.config.Log, own.config.KeyRing = logTo(own.log), c.ring
			err := own.start(uses).waitForEnd()
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it ended with %v, want %q", err, c.says)
			}
			if strings.Contains(own.log.String()+fmt.Sprint(err), "canary") {
				t.Errorf("a text of the ring is in the log or in the error %v:\n%s", err, own.log)
			}
		})
	}
	own := *w
	own.config.KeyRing = KeyRing{Text: text}
	own.start(uses).waitForLog(runs)
}
