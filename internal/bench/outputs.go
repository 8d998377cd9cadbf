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
	"github.com/pawl-run/pawl/toolspec/output/read"
)

const (
	// streamTool writes a stream of outputMB.
	streamTool  = "bench__stream"
	outputMB    = 200
	outputLines = outputMB << 20 / 80
	// farLine is the first line of the page of OutputFigures.LineMs.
	farLine = 2_000_000
	// lineReads is how often the page at farLine is read, and greps how often the output is searched.
	lineReads = 20
	greps     = 5
)

// OutputFigures is the report of Outputs: a tool streams a text of MB megabytes through a worker of this process.
type OutputFigures struct {
	Server string `json:"server"`
	MB     int    `json:"mb"`
	// WriteMBPerS is the speed from the beginning of the call to its result.
	WriteMBPerS float64 `json:"write_mb_per_s"`
	// PeakMB is the highest resident memory of this process during the call, less the memory before the call. ReadPeakMB is the same for
	// the reads.
	PeakMB     float64 `json:"peak_mb"`
	ReadPeakMB float64 `json:"read_peak_mb"`
	// ResultMs is the time from the return of the tool to the result: the worker stores the rest of the stream and settles the call.
	ResultMs float64 `json:"result_ms"`
	// FirstPageMs is the time from the result until the first page is read.
	FirstPageMs float64 `json:"first_page_ms"`
	// GrepMBPerS is the median speed of searches for a literal that only the last line has.
	GrepMBPerS float64 `json:"grep_mb_per_s"`
	// LineMs is the median time to read a page at line 2 000 000.
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
		for i := range outputLines {
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

// watchMemory watches the resident memory of this process until peak is called. peak returns the highest value, less the value at the
// beginning, in MiB.
func watchMemory(ctx context.Context) (peak func() float64, err error) {
	debug.FreeOSMemory()
	idle, err := residentMB(os.Getpid())
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	found := make(chan float64)
	go func() {
		var most float64
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			if mb, err := residentMB(os.Getpid()); err == nil {
				most = max(most, mb)
			}
			select {
			case <-watching.Done():
				found <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		stop()
		return <-found - idle
	}, nil
}

// write calls the tool while it watches the memory of this process.
func (f *OutputFigures) write(ctx context.Context, s *stand, store *postgres.Store) (ref string, err error) {
	peak, err := watchMemory(ctx)
	if err != nil {
		return "", err
	}
	began := time.Now()
	r, err := f.call(ctx, s.pawl)
	ended := time.Now()
	if err == nil {
		ref = r.OutputRef
		err = page(ctx, store, ref, 1)
	}
	f.FirstPageMs = ms(time.Since(ended))
	f.ResultMs = float64(ended.UnixNano()-returned.Load()) / float64(time.Millisecond)
	f.PeakMB = peak()
	f.WriteMBPerS = outputMB / ended.Sub(began).Seconds()
	return ref, err
}

func (f *OutputFigures) call(ctx context.Context, c *client.Client) (r toolspec.Result, err error) {
	if r, err = c.Invoke(ctx, invocation(streamTool, fmt.Sprintf("outputs-%d", time.Now().UnixNano()), "hello")); err == nil && (!r.OK || r.OutputRef == "") {
		err = errors.New("bench: the stream ended with " + string(r.ErrorCode) + " " + r.SafeMessage)
	}
	return r, err
}

// page reads a page as core__tool_output_cache does.
func page(ctx context.Context, store *postgres.Store, ref string, line int64) error {
	text, err := read.Open(ctx, store, tenant, ref, "")
	if err != nil {
		return err
	}
	p, err := text.Lines(read.Window{Offset: line})
	if err == nil && (len(p.Lines) == 0 || !bytes.HasPrefix(p.Lines[0].Text, fmt.Appendf(nil, "%09d ", line-1))) {
		err = fmt.Errorf("bench: the page of line %d does not begin with it", line)
	}
	return err
}

// grep searches the whole output as core__tool_output_cache_grep does.
func grep(ctx context.Context, store *postgres.Store, ref string) error {
	pattern, err := read.NewPattern(fmt.Sprintf("%09d call", outputLines-1), false)
	if err != nil {
		return err
	}
	text, err := read.Open(ctx, store, tenant, ref, "")
	if err != nil {
		return err
	}
	found, err := text.Grep(read.Query{Pattern: pattern})
	if err == nil && (found.Matches != 1 || found.Lines[0].Number != outputLines) {
		err = fmt.Errorf("bench: a search for the last line has %d matches", found.Matches)
	}
	return err
}

func (f *OutputFigures) read(ctx context.Context, store *postgres.Store, ref string) error {
	took := func(times int, what func() error) (time.Duration, error) {
		var all []time.Duration
		for range times {
			began := time.Now()
			if err := what(); err != nil {
				return 0, err
			}
			all = append(all, time.Since(began))
		}
		return median(all), nil
	}
	peak, err := watchMemory(ctx)
	if err != nil {
		return err
	}
	defer func() { f.ReadPeakMB = peak() }()
	search, err := took(greps, func() error { return grep(ctx, store, ref) })
	if err != nil {
		return err
	}
	f.GrepMBPerS = outputMB / search.Seconds()
	line, err := took(lineReads, func() error { return page(ctx, store, ref, farLine) })
	f.LineMs = ms(line)
	return err
}
