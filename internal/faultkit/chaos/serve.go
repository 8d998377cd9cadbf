package chaos

import (
	"context"
	"io"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/worker"
)

// LedgerEnv is the variable with the address of the ledger, for a worker process.
const LedgerEnv = "PAWL_CHAOS_LEDGER"

// Serve runs a worker process of a run, with the tools of the ledger at ledgerURL. around wraps
// their effects and may be nil. It returns when ctx ends or stdin is closed. The run holds the
// other end of stdin, so its workers end even if the run is killed.
func Serve(ctx context.Context, c worker.Config, ledgerURL string, around ledger.Around, stdin io.Reader, more ...worker.Option) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	writer := ledger.Writer{URL: ledgerURL}
	tools := ledger.Tools(writer, around)
	if len(c.KeyRing.Text) > 0 {
		tools = append(tools, ledger.AccountTool(writer))
	}
	return worker.Run(ctx, c, append([]worker.Option{worker.Tools(tools...)}, more...)...)
}
