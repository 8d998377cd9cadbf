package worker

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Main is a complete main function. It runs a worker with the configuration from the environment
// (see LoadConfig) until SIGINT or SIGTERM. It returns the exit status. It logs errors on standard
// error.
//
//	func main() {
//		os.Exit(worker.Main(worker.Tools(mine), worker.Hooks(limit)))
//	}
//
// A program with its own configuration, logger or context calls Run. A program that also has the commands
// of operators calls command.Main.
func Main(options ...Option) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C does not wait for a clean end.
	context.AfterFunc(ctx, stop)
	config, err := LoadConfig()
	if err == nil {
		err = CheckVariables(os.Environ())
	}
	if err == nil {
		err = Run(ctx, config, options...)
	}
	if err == nil {
		return 0
	}
	if config.Log == nil {
		config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	config.Log.Error("the worker ended", "error", err)
	return 1
}
