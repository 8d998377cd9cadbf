package agentruns

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// TestChatEndsWithItsInput: at the end of standard input, the chat does not wait for a request that it could not show.
func TestChatEndsWithItsInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		console, err := openConsole(strings.NewReader(""), &out)
		if err != nil {
			t.Fatal(err)
		}
		defer console.close()
		c := &chat{printer: printer{text: console, lines: console}, a: &app.App{}, console: console, busy: true, unasked: []string{"unreadable"}}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.talk(ctx); err != nil || time.Since(began) > time.Minute {
			t.Errorf("the chat ends after %s with %v", time.Since(began), err)
		}
		if !strings.Contains(out.String(), "the approval request unreadable cannot be shown: ") {
			t.Errorf("the chat prints %q", out.String())
		}
	})
}
