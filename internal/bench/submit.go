package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/client"
)

// order is the input of a submitting process, in JSON on its standard input.
type order struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	IDs       string `json:"ids"`
	Calls     int    `json:"calls"`
	Parallel  int    `json:"parallel"`
}

// delivery is the output of a submitting process, in JSON on its standard output.
type delivery struct {
	Latencies []time.Duration `json:"latencies"`
	Took      time.Duration   `json:"took"`
	CPU       time.Duration   `json:"cpu"`
	Allocs    uint64          `json:"allocs"`
}

// submit has another process make the calls of an order.
func submit(ctx context.Context, s *stand, o Options, what order) (d delivery, err error) {
	what.Address, what.Namespace = s.stack.TemporalAddress(), s.stack.Namespace()
	cmd := o.Submitter()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return d, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return d, err
	}
	if err := cmd.Start(); err != nil {
		return d, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	sent := json.NewEncoder(in).Encode(what)
	_ = in.Close()
	read := json.NewDecoder(out).Decode(&d)
	if err := cmd.Wait(); err != nil {
		return d, fmt.Errorf("the submitting process: %w", err)
	}
	if sent != nil {
		return d, sent
	}
	return d, read
}

// Submit is the submitting process: it reads an order, makes its calls of the case read_only_remote, and answers what it measured.
func Submit(ctx context.Context, in io.Reader, out io.Writer) error {
	var what order
	if err := json.NewDecoder(in).Decode(&what); err != nil {
		return fmt.Errorf("bench: order: %w", err)
	}
	t, err := temporal.DialContext(ctx, temporal.Options{
		HostPort: what.Address, Namespace: what.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: temporal.ConnectionOptions{GetSystemInfoTimeout: time.Minute},
	})
	if err != nil {
		return fmt.Errorf("bench: dial Temporal: %w", err)
	}
	defer t.Close()
	c := client.New(t, client.Options{})
	var d delivery
	var mu sync.Mutex
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := processCPU(), time.Now()
	err = atOnce(ctx, what.Calls, what.Parallel, func(ctx context.Context, i int) error {
		began := time.Now()
		if err := invoke(ctx, c, readTool, id(what.IDs, i), "hello", ""); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		d.Latencies = append(d.Latencies, time.Since(began))
		return nil
	})
	if err != nil {
		return err
	}
	d.Took, d.CPU = time.Since(began), processCPU()-cpu
	runtime.ReadMemStats(&after)
	d.Allocs = (after.Mallocs - before.Mallocs) / uint64(what.Calls)
	return json.NewEncoder(out).Encode(d)
}
