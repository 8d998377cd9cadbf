package chaos

import (
	"context"
	"io"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/worker"
)

// LedgerEnv is the variable that tells a worker process where the ledger is.
const LedgerEnv = "PAWL_CHAOS_LEDGER"

// Serve is a worker process of a run, whose address of the ledger is in
// LedgerEnv: a worker with the tools of the ledger. around stands around their
// effects and may be nil. It ends with ctx, or with stdin, whose other end the run
// holds: however the run ends, this ends too.
func Serve(ctx context.Context, c worker.Config, ledgerURL string, around ledger.Around, stdin io.Reader, more ...worker.Option) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	tools := ledger.Tools(ledger.Writer{URL: ledgerURL}, around)
	return worker.Run(ctx, c, append([]worker.Option{worker.Tools(tools...)}, more...)...)
}
