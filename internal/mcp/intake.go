package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Bounds of what a server may send.
const (
	// maxIdleMessage bounds a message that is read while no call runs, and so a page of the list of tools, in bytes.
	maxIdleMessage = 4 << 20
	// maxMessage bounds a message if a call runs while a part of it is read, in bytes. The SDK holds a message several times.
	maxMessage = 16 << 20
	// maxRate and maxBurst bound the lines that are read from a server, for each second and at once. The
	// SDK keeps all notifications and requests that it has not handled yet.
	maxRate  = 2000
	maxBurst = 4000
	// maxVolume and maxVolumeBurst bound the bytes that are read from a server in the same way.
	maxVolume      = maxMessage
	maxVolumeBurst = 2 * maxMessage
	// maxNoise bounds the lines of a stdio server that are no messages.
	maxNoise = 1000
)

var (
	errTooLarge = errors.New("the server sent a message that is too large")
	errUnread   = errors.New("the server does not read what is sent to it")
	errNoise    = errors.New("the server writes text that is no message to its standard output")
)

// flow bounds how fast a server is read. All sessions with the server share it.
type flow struct {
	// rate bounds the lines, and volume the bytes.
	rate, volume *rate.Limiter
}

func newFlow() *flow {
	return &flow{rate: rate.NewLimiter(maxRate, maxBurst), volume: rate.NewLimiter(maxVolume, maxVolumeBurst)}
}

// intake bounds what is read from one server. All that reads and writes in a session shares it.
type intake struct {
	*flow

	// session ends with the session.
	session context.Context
	// calls counts the calls that run.
	calls atomic.Int64
	// failed is why the session cannot go on, and broken is closed when there is such a reason.
	failed atomic.Pointer[error]
	broken chan struct{}
	// notified has a value after the server got the notice of the end of a call.
	notified chan struct{}
}

func newIntake(session context.Context, f *flow) *intake {
	return &intake{flow: f, session: session, broken: make(chan struct{}), notified: make(chan struct{}, 1)}
}

// most returns how large a message may be now.
func (in *intake) most() int {
	if in.calls.Load() > 0 {
		return maxMessage
	}
	return maxIdleMessage
}

// fail ends the session for the reason err, and returns err.
func (in *intake) fail(err error) error {
	if in.failed.CompareAndSwap(nil, &err) {
		close(in.broken)
	}
	return err
}

// noteNotified notes that the server got the notice of the end of a call.
func (in *intake) noteNotified() {
	select {
	case in.notified <- struct{}{}:
	default:
	}
}

// reader returns a reader of r that fails at a line that is too large, and reads lines not faster than the
// bound. If messagesOnly is true, it leaves out lines that do not begin like a JSON object.
func (in *intake) reader(r io.Reader, messagesOnly bool) *lineReader {
	return &lineReader{in: in, from: r, messagesOnly: messagesOnly, atStart: true}
}

type lineReader struct {
	in           *intake
	from         io.Reader
	messagesOnly bool
	// atStart says that only white space of the line was read. dropping says that the line is no message.
	atStart, dropping bool
	length, noise     int
	// most is the bound of the line: the highest since its first byte, because an answer may end after its call.
	most int
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	for {
		n, err := l.from.Read(p)
		if l.in.take(l.in.volume, n) != nil {
			return 0, io.ErrUnexpectedEOF
		}
		kept, bad := l.filter(p[:n])
		if bad != nil {
			return 0, l.in.fail(bad)
		}
		if kept > 0 || err != nil {
			return kept, err
		}
	}
}

// filter removes from p what is dropped, and returns the length of the rest.
func (l *lineReader) filter(p []byte) (kept int, err error) {
	lines := 0
	for len(p[kept:]) > 0 {
		line, rest, ended := bytes.Cut(p[kept:], []byte("\n"))
		size := len(line)
		if ended {
			size++
			lines++
		}
		l.most = max(l.most, l.in.most())
		if l.length += len(line); l.length > l.most {
			return 0, errTooLarge
		}
		if text := bytes.TrimLeft(line, " \t\r"); l.atStart && len(text) > 0 {
			l.atStart = false
			l.dropping = l.messagesOnly && text[0] != '{'
		}
		blank := l.messagesOnly && l.atStart
		if ended {
			if l.dropping {
				l.noise++
			}
			l.length, l.most, l.atStart = 0, 0, true
		}
		if drop := l.dropping || blank; drop {
			p = append(p[:kept], rest...)
		} else {
			kept += size
		}
		if ended {
			l.dropping = false
		}
	}
	if l.noise > maxNoise {
		return 0, errNoise
	}
	if l.in.take(l.in.rate, lines) != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return kept, nil
}

// take waits until n more may be read. It returns an error when the session ends.
func (in *intake) take(of *rate.Limiter, n int) error {
	for n > 0 {
		most := min(n, of.Burst())
		if err := of.WaitN(in.session, most); err != nil {
			return err
		}
		n -= most
	}
	return nil
}
