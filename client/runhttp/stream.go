package runhttp

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/client/uistream"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// stream is an answer that is being written.
type stream struct {
	h       *handler
	req     request
	w       http.ResponseWriter
	control *http.ResponseController
	mapper  *uistream.Mapper
	// silence fires when nothing was written for a while.
	silence *time.Timer
	// checked is the last event for which the right of the viewer was checked.
	checked int64
}

// event is what a Watcher yields.
type event struct {
	toolspec.RunEvent
	err error
}

// stream writes the events of the run until the message ends. It ends earlier if the events cannot be read, if another
// identity joins the run, after MaxDuration, or when the token of the viewer expires. checked is the number of the last
// event for which the caller has checked the right of the viewer. While the client does not read, stream reads no more
// events, and after WriteTimeout the connection ends.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, req request, checked int64) {
	s := &stream{
		h: h, req: req, w: w, control: http.NewResponseController(w), mapper: uistream.NewMapper(req.runID),
		silence: time.NewTimer(h.Heartbeat), checked: checked,
	}
	defer s.silence.Stop()
	if err := s.control.SetWriteDeadline(time.Now().Add(h.WriteTimeout)); err != nil {
		h.Log.Error("a run cannot be watched: a ResponseWriter around the handler hides SetWriteDeadline: give it a method Unwrap")
		refuse(w, toolspec.CodeInternal, "")
		return
	}
	uistream.SetHeader(w.Header())
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	if err := s.begin(); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	events, ended := make(chan event), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(events)
		// The mapper needs all events from the first one, because the parts of an event depend on which
		// calls are open.
		for e, err := range h.Watcher.Watch(ctx, req.tenantID, req.runID, 0) {
			select {
			case events <- event{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		<-ended
	}()
	s.run(ctx, events)
}

// begin writes the header, and what a message begins with.
func (s *stream) begin() error {
	var start []uistream.Part
	if s.req.from.Seq == 0 {
		start = s.mapper.Start()
	}
	return s.write(func() error {
		s.w.WriteHeader(http.StatusOK)
		if len(start) == 0 {
			return comment(s.w)
		}
		return writeAll(s.w, start)
	})
}

// run writes events until the message ends, the time of the stream is over, or ctx ends.
func (s *stream) run(ctx context.Context, events <-chan event) {
	lifetime := s.h.MaxDuration
	if !s.req.viewer.Expires.IsZero() {
		lifetime = min(lifetime, time.Until(s.req.viewer.Expires))
	}
	over := time.NewTimer(lifetime)
	defer over.Stop()
	for {
		select {
		case <-over.C:
			s.end(s.mapper.Abort())
			return
		case <-ctx.Done():
			// The server stops, or the client has gone. A client that has gone does not get these parts.
			s.end(s.mapper.Abort())
			return
		case <-s.silence.C:
			if s.write(func() error { return comment(s.w) }) != nil {
				return
			}
		case e, ok := <-events:
			if !ok {
				s.end(s.mapper.Abort())
				return
			}
			if goesOn := s.event(ctx, e); !goesOn {
				return
			}
		}
	}
}

// event writes the parts of an event, and reports whether the stream goes on.
func (s *stream) event(ctx context.Context, e event) bool {
	if e.err == nil {
		e.err = s.check(ctx, e.RunEvent)
	}
	switch {
	case e.err != nil && ctx.Err() != nil:
		s.end(s.mapper.Abort())
		return false
	case e.err != nil:
		s.h.Log.Warn("the stream of a run ends", "run", s.req.runID, "error", errs.Reason(e.err))
		s.end(s.mapper.Fail("The events of the run cannot be read. Connect again."))
		return false
	}
	parts, finished := s.mapper.Map(e.RunEvent)
	rest, at := s.req.from.After(e.Seq, parts)
	if finished && len(rest) > 0 {
		err := s.write(func() error { return s.writeParts(rest, at) })
		if err == nil {
			s.end(nil)
		}
		return false
	}
	var start []uistream.Part
	if e.Seq == s.req.from.Seq && s.req.from.Parts == 0 {
		// The client has read the previous message to its end, so the next message begins.
		start = s.mapper.Start()
	}
	if len(start)+len(rest) == 0 {
		return true
	}
	return s.write(func() error {
		if err := writeAll(s.w, start); err != nil {
			return err
		}
		return s.writeParts(rest, at)
	}) == nil
}

// foreignEvent says that another identity has joined the run.
type foreignEvent struct{}

func (foreignEvent) Error() string { return "a call or a text of another identity is in the run" }

// LogReason returns the text of Error, which is safe for logs.
func (f foreignEvent) LogReason() string { return f.Error() }

// check asks again whether the viewer may watch the run when a call or a text joins it, because the
// call or the text may belong to another identity. A later event of a call needs no check.
func (s *stream) check(ctx context.Context, e toolspec.RunEvent) error {
	if e.Kind == toolspec.RunTextDelta && e.OwnerID != s.req.viewer.Identity {
		return foreignEvent{}
	}
	if e.Kind != toolspec.RunCallStart && e.Kind != toolspec.RunApprovalRequested || e.Seq <= s.checked {
		return nil
	}
	lastSeq, may, err := s.h.Owners.OwnsRun(ctx, s.req.tenantID, s.req.runID, s.req.viewer.Identity, s.checked)
	if err == nil && !may {
		err = foreignEvent{}
	}
	s.checked = max(e.Seq, lastSeq)
	return err
}

// end writes the last parts and the end of the stream. If the client resumes after an event that the mapper has
// not reached yet, the client may already know the result of a call that is still open for the mapper. So it gets
// only the last part, and not the parts that close open calls.
func (s *stream) end(last []uistream.Part) {
	if s.mapper.Seq() < s.req.from.Seq && len(last) > 0 {
		last = last[len(last)-1:]
	}
	_ = s.write(func() error {
		if err := writeAll(s.w, last); err != nil {
			return err
		}
		return uistream.WriteDone(s.w)
	})
}

func (s *stream) writeParts(parts []uistream.Part, at []uistream.Position) error {
	for n, p := range parts {
		if err := p.Write(s.w, at[n].String()); err != nil {
			return err
		}
	}
	return nil
}

// write calls f and flushes what f wrote. If the client does not read the data in time, its connection
// ends, and its place is free again. write removes the deadline at the end, because HTTP/2 also resets a
// silent stream at its deadline.
func (s *stream) write(f func() error) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.h.WriteTimeout)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	s.silence.Reset(s.h.Heartbeat)
	return s.control.SetWriteDeadline(time.Time{})
}

func writeAll(w io.Writer, parts []uistream.Part) error {
	for _, p := range parts {
		if err := p.Write(w, ""); err != nil {
			return err
		}
	}
	return nil
}

// comment writes a line that readers of events skip.
func comment(w io.Writer) error {
	_, err := io.WriteString(w, ": \n\n")
	return err
}
