package attempt

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// maxMediaType bounds the media type of a stream, in bytes.
	maxMediaType = 200
	// discardTime bounds how long a failed attempt takes to delete its stream. Upkeep deletes the rest.
	discardTime = 2 * time.Second
)

// errAttemptEnded is the error of Write if the tool still runs after its attempt has ended.
var errAttemptEnded = errors.New("the attempt has ended")

// stream is the toolspec.OutputStream of an attempt. It removes credentials and masks texts in each part before
// it stores the part.
type stream struct {
	secrets *fingerprint.Set

	mu        sync.Mutex
	ctx       context.Context //nolint:containedctx // of the run of the tool: io.Writer has none
	cleaner   cleaner
	writer    OutputWriter
	mediaType string
	wrote     bool
	ended     bool
	// err is the first error; the attempt fails with it.
	err error
}

var _ toolspec.OutputStream = (*stream)(nil)

// newStream returns the stream of an attempt, or nil if the tool declares none.
func (a *Attempts) newStream(in contract.ExecuteIn, claimID string, bound *catalog.Bound) *stream {
	def := bound.Definition()
	if def.Stream == "" {
		return nil
	}
	return &stream{
		secrets: a.Secrets, mediaType: def.Stream.MediaType(),
		cleaner: cleaner{binary: def.Stream == toolspec.BinaryStream, masker: bound.StreamMasker(), secrets: a.Secrets, cleaned: time.Now()},
		writer: a.Store.NewOutput(StreamRow{
			InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, Dispatch: in.Dispatch, ClaimID: claimID,
			MediaType: def.Stream.MediaType(), Text: def.Stream == toolspec.TextStream,
		}),
	}
}

// begin returns the call with the stream, to which the tool then writes. After ctx has ended, each Write fails.
func (s *stream) begin(ctx context.Context, call toolspec.Call) toolspec.Call {
	if s == nil {
		return call
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	return call.WithOutput(s)
}

// Write implements toolspec.OutputStream.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return 0, errAttemptEnded
	case s.err != nil:
		return 0, s.err
	case s.ctx.Err() != nil && len(p) > 0: // the stream would lack these bytes
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	s.wrote = s.wrote || len(p) > 0
	if s.err = s.cleaner.push(p, false, s.store); s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

func (s *stream) store(part []byte) error { return s.writer.Write(s.ctx, part) }

// SetMediaType implements toolspec.OutputStream.
func (s *stream) SetMediaType(mediaType string) error {
	if _, _, err := mime.ParseMediaType(mediaType); err != nil || len(mediaType) > maxMediaType || s.secrets.Redact(mediaType) != mediaType {
		return fmt.Errorf("that is no media type of at most %d bytes", maxMediaType)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mediaType = mediaType
	return nil
}

// finish stores the rest of the stream and returns its reference; "" if the tool wrote nothing.
func (s *stream) finish(ctx context.Context) (ref string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.err != nil || !s.wrote {
		return "", s.err
	}
	s.ctx = ctx
	if s.err = s.cleaner.push(nil, true, s.store); s.err != nil {
		return "", s.err
	}
	ref, s.err = s.writer.Finish(ctx, s.mediaType)
	return ref, s.err
}

// end makes each later Write fail, and returns the first error of the stream. It does not wait for a
// Write of a tool that was left behind.
func (s *stream) end() error {
	if !s.mu.TryLock() {
		go func() { // the Write ends with its context
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = true
		}()
		return nil
	}
	defer s.mu.Unlock()
	s.ended = true
	return s.err
}

// withStream finishes the stream of an attempt that succeeded, and discards the stream of any other
// attempt.
func (a *Attempts) withStream(ctx, budget context.Context, in contract.ExecuteIn, s *stream, out contract.ExecuteOut) contract.ExecuteOut {
	if s == nil {
		return out
	}
	if out.Outcome == contract.Done && !out.Responded {
		ref, err := s.finish(ctx)
		if err == nil {
			out.OutputRef = ref
			return out
		}
		out = a.unstored(ctx, budget, in, err, out)
	} else if err := s.end(); err != nil && out.Outcome == contract.Refused && budget.Err() == nil {
		out = a.unstored(ctx, budget, in, err, out) // the tool failed because its stream could not be stored
	}
	a.discard(ctx, in, s)
	return out
}

// unstored returns the answer of an attempt whose stream could not be stored.
func (a *Attempts) unstored(ctx, budget context.Context, in contract.ExecuteIn, err error, was contract.ExecuteOut) contract.ExecuteOut {
	a.Log.WarnContext(ctx, "the stream of a tool could not be stored", "invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID,
		"dispatch", in.Dispatch, "reason", errs.Reason(err))
	out := contract.ExecuteOut{Outcome: contract.Refused, Trace: was.Trace}
	switch {
	case errors.Is(err, output.ErrQuota):
		out.Failure = &hook.Failure{Code: toolspec.CodeOutputQuota}
	case errors.Is(err, errUnclean):
		out.Failure = &hook.Failure{Code: toolspec.CodeRedactionFailed}
	case heartbeat.Stopping(ctx) || budget.Err() != nil:
		out = interrupted(ctx, budget)
		out.Trace = was.Trace
	default:
		out.Outcome = contract.Interrupted
		out.Failure = &hook.Failure{Code: contract.CauseUnsaved, SafeMessage: "The tool ran, but its output could not be stored"}
	}
	return out
}

// discard deletes the stream of an attempt, unless the tool still writes to it. It takes at most discardTime, also if ctx has
// ended. Upkeep deletes the rest.
func (a *Attempts) discard(ctx context.Context, in contract.ExecuteIn, s *stream) {
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	if !s.mu.TryLock() {
		return // a tool that was left behind still writes: upkeep deletes its stream
	}
	defer s.mu.Unlock()
	if err := s.writer.Discard(soon); err != nil {
		a.Log.WarnContext(ctx, "a stream that nobody reads is left to upkeep", "invocationId", in.Facts.InvocationID, "reason", errs.Reason(err))
	}
}
