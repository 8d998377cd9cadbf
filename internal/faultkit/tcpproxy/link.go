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
	watch  Watch // nil = nobody looks

	stranded atomic.Bool

	mu     sync.Mutex
	target net.Conn // nil until it is dialled
	gone   bool
	over   chan struct{} // closed by reset
}

// run forwards until one side has ended in both directions, or reset.
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
	both.Go(func() { l.pump(target, l.client, l.requested) })
	both.Go(func() { l.pump(l.client, target, l.answered) })
	both.Wait()
}

// reached notes the other side, unless the link is over already.
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

// pump forwards one direction. An end of data is forwarded as such; any other error, and a verdict that cuts, resets the link.
func (l *link) pump(to, from net.Conn, judge func([]byte) Verdict) {
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

// gate holds data back while the proxy says so; false means that the link is over.
func (l *link) gate() bool {
	_, delay, _ := l.proxy.now()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
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

// reset ends the link with an RST on both sides.
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
		_ = tcp.SetLinger(0) // no orderly end
	}
	_ = conn.Close()
}
