// Command timing is a worker that logs how long every attempt of every tool
// takes, by a hook around it. It has a main of its own, for it shares its logger
// with the hook.
//
//	pawl dev -- go run ./examples/timing
//
// and, in another terminal, in the same directory:
//
//	pawl invoke core__ls
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("the worker ended", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := worker.LoadConfig()
	if err != nil {
		return err
	}
	config.Log = log
	return worker.Run(ctx, config, worker.Hooks(timing(log)))
}

// timing stands around the attempt: Next runs the hooks further inside, the tool
// and what follows it. Of several hooks the one with the highest priority is
// outermost. Next is called once, and its error is returned: a hook that does
// neither call it nor answer fails the call.
//
// What is logged holds no argument and no output.
func timing(log *slog.Logger) hook.Hook {
	return hook.New("timing", hook.Priority(1000), hook.AroundExecute.Do(func(ctx context.Context, v *hook.Around) error {
		began := time.Now()
		_, err := v.Next()
		log.InfoContext(ctx, "tool timed", "toolId", v.ToolID(), "invocationId", v.InvocationID(),
			"took", time.Since(began), "ok", err == nil)
		return err
	}))
}
