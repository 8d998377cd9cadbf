package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

const (
	// streamTool writes a stream of outputMB.
	streamTool = "bench__stream"
	outputMB   = 200
	// farLine is the line that OutputFigures.LineMs looks for.
	farLine = 2_000_000
	// lineReads is how often it is looked for.
	lineReads = 20
)

// OutputFigures is the report of Outputs: a text of so many MB that a tool streams through a worker of this process.
type OutputFigures struct {
	Server string `json:"server"`
	MB     int    `json:"mb"`
	// WriteMBPerS is from the beginning of the call to its result.
	WriteMBPerS float64 `json:"write_mb_per_s"`
	// PeakMB is the resident memory of this process above what it had before the call.
	PeakMB float64 `json:"peak_mb"`
	// ResultMs is from the return of the tool until its caller has the result: what is left of the stream is stored, and the call settles.
	ResultMs float64 `json:"result_ms"`
	// FirstPageMs is from the result until the first chunk is read.
	FirstPageMs float64 `json:"first_page_ms"`
	// GrepMBPerS counts a literal in all chunks.
	GrepMBPerS float64 `json:"grep_mb_per_s"`
	// LineMs is the median time to read the chunk of line 2 000 000.
	LineMs float64 `json:"line_ms"`
	// StoredMB is the size of the compressed chunks.
	StoredMB float64 `json:"stored_mb"`
}

// returned is when the tool streamTool returned last, in nanoseconds.
var returned atomic.Int64

// streaming is a tool that writes 200 MiB in lines of 80 bytes.
func streaming() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: streamTool, Description: "Writes a long text.", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Stream: toolspec.TextStream,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Timeout: 5 * time.Minute,
	}, func(_ context.Context, _ echoIn, call toolspec.Call) (echoOut, error) {
		line := make([]byte, 0, 128)
		for i := range outputMB << 20 / 80 {
			line = fmt.Appendf(line[:0], "%09d call %x took %d ms in internal/postgres/record/claim.sql, of %d", i, uint32(i)*2654435761, i*37%911, i%97)
			for len(line) < 79 {
				line = append(line, '.')
			}
			if _, err := call.Output().Write(append(line[:79], '\n')); err != nil {
				return echoOut{}, err
			}
		}
		defer func() { returned.Store(time.Now().UnixNano()) }()
		return echoOut{Text: "written"}, nil
	})
}

// Outputs measures a stream of 200 MiB: writing, reading its first page, a line and all of it.
func Outputs(ctx context.Context, o Options) (*OutputFigures, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := setUp(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	store, err := postgres.Open(ctx, s.stack.DatabaseURL(), postgres.Options{MaxConns: 4, Application: "pawl-bench"})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	f := &OutputFigures{MB: outputMB}
	if f.Server, err = serverOf(ctx, s, o); err != nil {
		return nil, err
	}
	o.Progress("writing 200 MiB")
	ref, err := f.write(ctx, s, store)
	if err != nil {
		return nil, err
	}
	o.Progress("reading it")
	pool, err := pgxpool.New(ctx, s.stack.DatabaseURL())
	if err != nil {
		return nil, fmt.Errorf("bench: database: %w", err)
	}
	defer pool.Close()
	if err := pool.QueryRow(ctx, `SELECT stored::float8 / 1048576 FROM outputs WHERE ref = $1`, ref).Scan(&f.StoredMB); err != nil {
		return nil, fmt.Errorf("bench: the size of the output: %w", err)
	}
	return f, f.read(ctx, store, ref)
}

// write calls the tool while it watches the memory of this process.
func (f *OutputFigures) write(ctx context.Context, s *stand, store *postgres.Store) (ref string, err error) {
	debug.FreeOSMemory()
	idle, err := residentMB(os.Getpid())
	if err != nil {
		return "", err
	}
	watching, stop := context.WithCancel(ctx)
	peak := make(chan float64)
	go func() {
		var most float64
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			if mb, err := residentMB(os.Getpid()); err == nil {
				most = max(most, mb)
			}
			select {
			case <-watching.Done():
				peak <- most
				return
			case <-tick.C:
			}
		}
	}()
	began := time.Now()
	r, err := f.call(ctx, s.pawl)
	ended := time.Now()
	if err == nil {
		ref = r.OutputRef
		for _, err = range store.Chunks(ctx, tenant, ref, output.Position{}) {
			break
		}
	}
	f.FirstPageMs = ms(time.Since(ended))
	f.ResultMs = float64(ended.UnixNano()-returned.Load()) / float64(time.Millisecond)
	stop()
	f.PeakMB = <-peak - idle
	f.WriteMBPerS = outputMB / ended.Sub(began).Seconds()
	return ref, err
}

func (f *OutputFigures) call(ctx context.Context, c *client.Client) (r toolspec.Result, err error) {
	if r, err = c.Invoke(ctx, invocation(streamTool, fmt.Sprintf("outputs-%d", time.Now().UnixNano()), "hello")); err == nil && (!r.OK || r.OutputRef == "") {
		err = errors.New("bench: the stream ended with " + string(r.ErrorCode) + " " + r.SafeMessage)
	}
	return r, err
}

func (f *OutputFigures) read(ctx context.Context, store *postgres.Store, ref string) error {
	began, size, hits := time.Now(), 0, 0
	for c, err := range store.Chunks(ctx, tenant, ref, output.Position{}) {
		if err != nil {
			return err
		}
		size, hits = size+len(c.Data), hits+bytes.Count(c.Data, []byte("took 910 ms"))
	}
	f.GrepMBPerS = float64(size) / (1 << 20) / time.Since(began).Seconds()
	if size < outputMB<<20-80 || hits == 0 {
		return fmt.Errorf("bench: %d bytes are read, with %d hits", size, hits)
	}
	var times []time.Duration
	for range lineReads {
		began := time.Now()
		for c, err := range store.Chunks(ctx, tenant, ref, output.Position{Line: farLine}) {
			if err != nil {
				return err
			}
			if !bytes.Contains(c.Data, fmt.Appendf(nil, "\n%09d ", farLine)) && !bytes.HasPrefix(c.Data, fmt.Appendf(nil, "%09d ", farLine)) {
				return errors.New("bench: the line is not in its chunk")
			}
			break
		}
		times = append(times, time.Since(began))
	}
	f.LineMs = ms(median(times))
	return nil
}
