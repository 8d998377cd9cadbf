package tcpproxy

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// Ports come from below the range that kernels lend to outgoing connections: while the proxy refuses, a client that keeps dialling could
// otherwise be given the proxy's own port and reach itself.
const (
	lowestPort   = 20000
	highestPort  = 32000
	portAttempts = 200
	relistenWait = 10 * time.Millisecond
	dialTimeout  = 30 * time.Second
)

// Mode is what the proxy does with connections, old and new.
type Mode int

const (
	// Pass forwards.
	Pass Mode = iota
	// Refuse listens no longer: new connections are refused. Those that are open stay; Cut ends them.
	Refuse
	// BlackHole accepts, and forwards nothing in either direction. What was held back goes on where Pass follows.
	BlackHole
)

// Proxy is a running proxy. It may be used by several goroutines.
type Proxy struct {
	target string
	port   int

	mu       sync.Mutex
	mode     Mode
	changed  chan struct{} // closed and replaced by every change of the mode
	delay    time.Duration
	watch    func() Watch
	listener net.Listener // nil while it refuses
	links    map[*link]struct{}
	accepted int
	peak     int // the most at once
	closed   bool
	work     sync.WaitGroup
}

// Start listens on a loopback port and forwards to target, host:port. Close the Proxy.
func Start(target string) (*Proxy, error) {
	p := &Proxy{target: target, changed: make(chan struct{}), links: map[*link]struct{}{}}
	for range portAttempts {
		p.port = lowestPort + rand.IntN(highestPort-lowestPort)
		if err := p.listen(); err == nil {
			return p, nil
		}
	}
	return nil, errors.New("no free port on 127.0.0.1 between 20000 and 32000: stop some servers and start again")
}

// Address is where the proxy listens, host:port. It stays the same.
func (p *Proxy) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// listen is called with the lock held, or before anybody else has the Proxy.
func (p *Proxy) listen() error {
	listener, err := net.Listen("tcp", p.Address())
	if err != nil {
		return err
	}
	p.listener = listener
	p.work.Go(func() { p.accept(listener) })
	return nil
}

// Set changes the mode.
func (p *Proxy) Set(m Mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	var err error
	switch {
	case m == Refuse && p.listener != nil:
		err = p.listener.Close()
		p.listener = nil
	case m != Refuse && p.listener == nil:
		// The port is briefly somebody else's at worst.
		for range portAttempts {
			if err = p.listen(); err == nil {
				break
			}
			time.Sleep(relistenWait)
		}
	}
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	return err
}

// Delay makes every piece of data wait for d before it goes on, in both directions; 0 ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Watch has every new connection looked at by a Watch of its own; nil ends it for connections to come. start must not
// call the Proxy.
func (p *Proxy) Watch(start func() Watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = start
}

// Cut resets all open connections, on both sides, and returns how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	return len(p.links)
}

// Strand makes all open connections dead without a word: nothing is forwarded on them any more, whatever the mode, and nobody is told. New
// ones are as the mode says. It returns how many there were.
func (p *Proxy) Strand() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.stranded.Store(true)
	}
	return len(p.links)
}

// SwallowAnswers lets the next n requests through and loses what the target answers: the connection is reset in its place. It counts pieces
// of data, so it suits protocols in which a client waits for each answer. Only connections made afterwards are concerned.
func (p *Proxy) SwallowAnswers(n int) {
	budget := &swallowed{left: n}
	p.Watch(func() Watch { return budget })
}

// Accepted is how many connections there have been.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Peak is the most connections that there have been at once.
func (p *Proxy) Peak() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// Close resets everything and waits until it is gone.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		if p.listener != nil {
			_ = p.listener.Close()
		}
		for l := range p.links {
			l.reset()
		}
	}
	p.mu.Unlock()
	p.work.Wait()
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // closed: Refuse or Close
		}
		l := p.link(conn)
		if l == nil {
			continue
		}
		p.work.Go(func() {
			l.run()
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		})
	}
}

// link enters a new connection, or drops it where the proxy is closed.
func (p *Proxy) link(conn net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	l := &link{proxy: p, client: conn, over: make(chan struct{})}
	if p.closed {
		reset(conn)
		return nil
	}
	if p.watch != nil {
		l.watch = p.watch()
	}
	p.links[l] = struct{}{}
	p.peak = max(p.peak, len(p.links))
	return l
}

// now is the state that data meets.
func (p *Proxy) now() (mode Mode, delay time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.delay, p.changed
}
