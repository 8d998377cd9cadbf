package tcpproxy

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// The ports are below the range of ephemeral ports. Otherwise, while the proxy refuses connections, a client that dials again and again
// could get the port of the proxy as its local port and connect to itself.
const (
	lowestPort   = 20000
	highestPort  = 32000
	portAttempts = 200
	relistenWait = 10 * time.Millisecond
	dialTimeout  = 30 * time.Second
)

// Mode is how the proxy treats all connections, old and new.
type Mode int

const (
	// Pass forwards data.
	Pass Mode = iota
	// Refuse refuses new connections. Open connections stay until Cut.
	Refuse
	// BlackHole accepts connections and forwards no data. After Pass it forwards the data that it held back.
	BlackHole
)

// Proxy is a running proxy. It is safe for concurrent use.
type Proxy struct {
	target string
	port   int

	mu       sync.Mutex
	mode     Mode
	changed  chan struct{} // closed and replaced by every change of the mode
	delay    time.Duration
	watch    func() Watch
	listener net.Listener // nil in mode Refuse
	links    map[*link]struct{}
	accepted int
	peak     int // the maximum number of links
	closed   bool
	work     sync.WaitGroup
}

// Start listens on a loopback port and forwards to target, host:port. The caller must close the
// Proxy.
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

// Address returns the address of the proxy, host:port. It never changes.
func (p *Proxy) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// listen needs the lock, except in Start.
func (p *Proxy) listen() error {
	listener, err := net.Listen("tcp", p.Address())
	if err != nil {
		return err
	}
	p.listener = listener
	p.work.Go(func() { p.accept(listener) })
	return nil
}

// Set changes the mode. It fails with net.ErrClosed after Close.
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
		// Another program can hold the port, but only for a short time.
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

// Delay delays every piece of data by d, in both directions; 0 ends the delay.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Watch gives every new connection its own Watch. nil ends it for new connections. start must not call the Proxy.
func (p *Proxy) Watch(start func() Watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = start
}

// Cut resets all open connections on both sides, and returns their number.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	return len(p.links)
}

// Strand stops forwarding on all open connections, in any mode, without closing them. New connections follow the mode. It returns the
// number of stranded connections.
func (p *Proxy) Strand() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.stranded.Store(true)
	}
	return len(p.links)
}

// SwallowAnswers forwards the next n requests and loses their answers: it resets the connection instead. It counts pieces of data, so the
// client must wait for each answer. It affects only new connections.
func (p *Proxy) SwallowAnswers(n int) {
	budget := &swallowed{left: n}
	p.Watch(func() Watch { return budget })
}

// Accepted returns the number of connections so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Peak returns the maximum number of concurrent connections so far.
func (p *Proxy) Peak() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// Close resets all connections and waits until all goroutines have ended.
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
			return // Refuse or Close has closed the listener
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

// link adds a new connection, or resets it if the proxy is closed.
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

// now returns the current mode and delay, and a channel that closes when the mode changes.
func (p *Proxy) now() (mode Mode, delay time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.delay, p.changed
}
