package mcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/sanitize"
)

const (
	// closeTime bounds the orderly end of a session. With the steps by which a process is stopped, it is below the
	// time that a worker gives a source to stop.
	closeTime = 2 * time.Second
	// pingTime bounds the answer to the ping after a call without an answer.
	pingTime = 5 * time.Second
)

// errLost says that a session ended. Its cause is safe to log.
var errLost = errors.New("the session with the server ended")

// session is a session with a server. All calls of the worker share it.
type session struct {
	client *sdk.ClientSession
	in     *intake
	// process is the process of a stdio server, or nil.
	process *process
	// kill ends everything that the session has opened, at once.
	kill func()
	// ended is closed when the session has ended.
	ended chan struct{}
	// changed has a value after the server said that its tools changed.
	changed chan struct{}
	// listed has the digests of the definitions that the server listed last, by the names of the tools.
	listed atomic.Pointer[map[string]string]
	// progress has the functions that take the progress of calls, by token.
	progress sync.Map
	tokens   atomic.Int64
	pinging  atomic.Bool
}

// way is how a session reaches its server.
type way struct {
	// version is the revision of the protocol to start with; empty means the newest.
	version string
	// env are the variables of a stdio server.
	env []string
	// token is the bearer token of the worker for an HTTP server; empty means none.
	token string
	// base sends the requests to an HTTP server; nil is a transport of the session's own.
	base http.RoundTripper
	// flow bounds how fast the server is read.
	flow *flow
}

// givenUp counts the starts of sessions that still run after openSession has returned the error of ctx. Only tests wait for
// them.
var givenUp sync.WaitGroup

// openSession starts a session. ctx bounds the start only.
func openSession(ctx context.Context, s Server, by way) (*session, error) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	se := &session{in: newIntake(lasting, by.flow), ended: make(chan struct{}), changed: make(chan struct{}, 1)}
	transport, err := se.transport(s, by, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "pawl", Version: "1"}, &sdk.ClientOptions{
		// No roots, no sampling, no elicitation: the SDK refuses what is not set here.
		Capabilities:                &sdk.ClientCapabilities{},
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { se.noteChange() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { se.report(r.Params) },
	})
	type connected struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		c, err := client.Connect(lasting, transport, &sdk.ClientSessionOptions{ProtocolVersion: by.version})
		done <- connected{c, err}
	}()
	select {
	case c := <-done:
		if c.err != nil {
			se.kill()
			return nil, se.cause(c.err)
		}
		se.client = c.session
	case <-ctx.Done():
		se.kill()
		// The SDK ends when its pause before another try to open a stream is over: after some seconds.
		givenUp.Go(func() {
			if c := <-done; c.err == nil {
				_ = c.session.Close()
			}
		})
		return nil, ctx.Err()
	}
	go func() {
		_ = se.client.Wait()
		close(se.ended)
	}()
	return se, nil
}

// transport returns the transport to a server, and sets kill.
func (se *session) transport(s Server, by way, cancel func()) (sdk.Transport, error) {
	if s.Transport == Stdio {
		p, err := startProcess(s, by.env)
		if err != nil {
			return nil, err
		}
		se.process = p
		se.kill = func() {
			cancel()
			p.close()
		}
		return p.transport(se.in), nil
	}
	transport, closeIdle, err := webTransport(s, by, se.in)
	se.kill = func() {
		cancel()
		closeIdle()
	}
	return transport, err
}

// cause returns err with the reason for which the session reads no more, if there is one.
func (se *session) cause(err error) error {
	if failed := se.in.failed.Load(); failed != nil {
		return fmt.Errorf("%w: %w", *failed, err)
	}
	return err
}

// close ends the session. The server has limit to end it in order. Then close ends it by force. Calls that run lose
// the session.
func (se *session) close(limit time.Duration) {
	endWithin(limit, func() { _ = se.client.Close() }, se.kill)
}

// endWithin calls orderly, waits at most limit for its end, and calls force. Then it waits at most limit for the
// end of orderly again. It does not wait longer, because the SDK may wait for something that never comes, and the stop of a worker
// must not.
func endWithin(limit time.Duration, orderly, force func()) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		orderly()
	}()
	wait := func() {
		select {
		case <-closed:
		case <-time.After(limit):
		}
	}
	wait()
	force()
	wait()
}

func (se *session) noteChange() {
	select {
	case se.changed <- struct{}{}:
	default:
	}
}

// watch has the progress of one call reported, until stop is called. It returns the token of the call.
func (se *session) watch(report func(toolspec.Progress)) (token string, stop func()) {
	token = "call-" + strconv.FormatInt(se.tokens.Add(1), 10)
	se.progress.Store(token, report)
	return token, func() { se.progress.Delete(token) }
}

// report passes on the progress of a call that runs.
func (se *session) report(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	stored, _ := se.progress.Load(token)
	if report, ok := stored.(func(toolspec.Progress)); ok {
		report(progressOf(p))
	}
}

func progressOf(p *sdk.ProgressNotificationParams) toolspec.Progress {
	text, _ := sanitize.Text(cutText(p.Message, 4*toolspec.MaxProgressText))
	text = strings.ToValidUTF8(cutText(text, toolspec.MaxProgressText), "")
	return toolspec.Progress{Done: whole(p.Progress), Total: whole(p.Total), Text: text}
}

// whole returns a number of the protocol as a whole number that is not negative.
func whole(f float64) int64 {
	switch {
	case !(f > 0):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(f)
}

// ping ends the session if the server does not answer a ping. It is for a call that got no answer.
func (se *session) ping() {
	if !se.pinging.CompareAndSwap(false, true) {
		return
	}
	defer se.pinging.Store(false)
	ctx, cancel := context.WithTimeout(se.in.session, pingTime)
	defer cancel()
	switch err := se.client.Ping(ctx, nil); {
	case errors.Is(err, context.DeadlineExceeded):
		_ = se.in.fail(errLate)
	case errors.Is(err, sdk.ErrConnectionClosed):
		_ = se.in.fail(errLost)
	}
}
