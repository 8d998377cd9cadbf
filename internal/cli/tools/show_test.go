package tools

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestHarmlessNamesAreShown: `pawl tools show` shows names of arguments that look like secrets and are declared
// harmless.
func TestHarmlessNamesAreShown(t *testing.T) {
	var b strings.Builder
	shownTool{Spec: toolspec.Spec{Name: "core__count", HarmlessNames: []string{"token", "secret"}}}.print(&b)
	if want := "harmless token, secret: named like a secret, and none, as the author declares\n"; !strings.Contains(b.String(), want) {
		t.Errorf("got %s", b.String())
	}
	b.Reset()
	shownTool{Spec: toolspec.Spec{Name: "core__count"}}.print(&b)
	if strings.Contains(b.String(), "harmless") {
		t.Errorf("got %s", b.String())
	}
}
