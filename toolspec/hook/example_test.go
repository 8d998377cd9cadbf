package hook_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
)

func ExampleNew() {
	hours := hook.New("office-hours", hook.Priority(100),
		hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
			return v.WaitUntil(v.Now().Truncate(24*time.Hour).Add(8*time.Hour), "outside office hours")
		}))

	r, err := hook.NewRegistry(slog.Default(), []hook.Hook{hours}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	v, err := r.Run(context.Background(), hook.StageInput{
		Stage: hook.WillAuthorize.Stage(), Hooks: r.Names(hook.WillAuthorize.Stage(), "core__ls"),
		PlanVersion: hook.PlanVersion, Facts: hook.Facts{ToolID: "core__ls", NowMs: at.UnixMilli()},
	}, hook.Delta{})
	fmt.Println(v.Outcome, v.By, time.UnixMilli(v.Wait.UntilMs).UTC().Format(time.TimeOnly), v.Wait.Reason, err)
	// Output: wait office-hours 08:00:00 outside office hours <nil>
}
