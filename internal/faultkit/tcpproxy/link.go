package tcpproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const pieceSize = 32 << 10

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client net.Conn
	watch  Watch // nil without a watch

	stranded atomic.Bool

	mu     sync.Mutex
	target net.Conn // nil until dialled
	gone   bool
	over   chan struct{} // closed by reset
}

// run forwards data until both sides have closed, or reset.
func (l *link) run() {
	defer l.reset()
	if !l.gate() {
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	target, err := dialer.Dial("tcp", l.proxy.target)
	if err != nil || !l.reached(target) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.forwardAll(target, l.client, l.requested) })
	both.Go(func() { l.forwardAll(l.client, target, l.answered) })
	both.Wait()
}

// reached sets the connection to the target, unless the link was reset.
func (l *link) reached(target net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		reset(target)
		return false
	}
	l.target = target
	return true
}

// forwardAll forwards the data of one direction, piece by piece, as judge says. At the end of the data it closes the write
// side of to. If a read or a write fails, or judge returns Cut, it resets the link.
func (l *link) forwardAll(to, from net.Conn, judge func([]byte) Verdict) {
	piece := make([]byte, pieceSize)
	for {
		n, err := from.Read(piece)
		if n > 0 && !l.forward(to, piece[:n], judge) {
			l.reset()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			if !l.gate() || to.(*net.TCPConn).CloseWrite() != nil { //nolint:errcheck,forcetypeassert // both sides are TCP
				l.reset()
			}
			return
		case err != nil:
			l.reset()
			return
		}
	}
}

func (l *link) forward(to net.Conn, piece []byte, judge func([]byte) Verdict) bool {
	if !l.gate() {
		return false
	}
	switch judge(piece) {
	case Cut:
		return false
	case Drop:
		return true
	case Forward:
	}
	_, err := to.Write(piece)
	return err == nil
}

func (l *link) requested(piece []byte) Verdict {
	if l.watch == nil {
		return Forward
	}
	return l.watch.Request(piece)
}

func (l *link) answered(piece []byte) Verdict {
	if l.watch == nil {
		return Forward
	}
	return l.watch.Answer(piece)
}

// gate waits for the delay, and while the mode is BlackHole. It returns false if the link was
// reset.
func (l *link) gate() bool {
	_, delay, _ := l.proxy.now()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-l.over:
			return false
		}
	}
	for {
		mode, _, changed := l.proxy.now()
		if l.stranded.Load() {
			<-l.over
			return false
		}
		if mode != BlackHole {
			select {
			case <-l.over:
				return false
			default:
				return true
			}
		}
		select {
		case <-changed:
		case <-l.over:
			return false
		}
	}
}

func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	l.gone = true
	close(l.over)
	reset(l.client)
	if l.target != nil {
		reset(l.target)
	}
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close with an RST
	}
	_ = conn.Close()
}
