package tcpproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
)

const (
	waitTimeout = 30 * time.Second
	// silence is how long a test waits for data that must not come.
	silence = 200 * time.Millisecond
)

// echo is a server that answers each line with the same line, and records the lines.
type echo struct {
	listener net.Listener
	mu       sync.Mutex
	asked    []string
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{listener: listener}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { e.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		work.Wait()
	})
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		e.mu.Lock()
		e.asked = append(e.asked, lines.Text())
		e.mu.Unlock()
		if _, err := io.WriteString(conn, lines.Text()+"\n"); err != nil {
			return
		}
	}
}

func (e *echo) received(line string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, asked := range e.asked {
		if asked == line {
			return true
		}
	}
	return false
}

func start(t *testing.T) (*tcpproxy.Proxy, *echo) {
	t.Helper()
	e := startEcho(t)
	p, err := tcpproxy.Start(e.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, e
}

func set(t *testing.T, p *tcpproxy.Proxy, m tcpproxy.Mode) {
	t.Helper()
	if err := p.Set(m); err != nil {
		t.Fatal(err)
	}
}

type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, p *tcpproxy.Proxy) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{t, conn, bufio.NewReader(conn)}
}

func (c *peer) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *peer) receive(within time.Duration) (string, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c *peer) wants(line string) {
	c.t.Helper()
	if got, err := c.receive(waitTimeout); err != nil || got != line {
		c.t.Fatalf("received %q, %v; want %q", got, err, line)
	}
}

func (c *peer) wantsReset() {
	c.t.Helper()
	if got, err := c.receive(waitTimeout); !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("received %q, %v; want a reset", got, err)
	}
}

func (c *peer) wantsSilence() {
	c.t.Helper()
	if got, err := c.receive(silence); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("received %q, %v; want nothing", got, err)
	}
}

func TestPass(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	c := dial(t, p)
	big := strings.Repeat("x", 60_000)
	for _, line := range []string{"one", big, "two"} {
		c.say(line)
		c.wants(line)
	}
	// The proxy forwards the end of one direction, and keeps the other direction open.
	c.say("three")
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.wants("three")
	if line, err := c.receive(waitTimeout); !errors.Is(err, io.EOF) {
		t.Errorf("received %q, %v; want the end", line, err)
	}
	if p.Accepted() != 1 || p.Peak() != 1 {
		t.Errorf("%d connections, want 1", p.Accepted())
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	c := dial(t, p)
	const delay = 100 * time.Millisecond
	p.Delay(delay)
	began := time.Now()
	c.say("late")
	c.wants("late")
	if took := time.Since(began); took < 2*delay {
		t.Errorf("the round trip took %s, want at least twice %s", took, delay)
	}
	p.Delay(0)
	c.say("again")
	c.wants("again")
}

func TestCut(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	first, second := dial(t, p), dial(t, p)
	for _, c := range []*peer{first, second} {
		c.say("hello")
		c.wants("hello")
	}
	if n := p.Cut(); n != 2 {
		t.Errorf("%d connections were cut, want 2", n)
	}
	first.wantsReset()
	second.wantsReset()
	again := dial(t, p)
	again.say("hello")
	again.wants("hello")
}

// TestRefuse is not parallel: while the proxy refuses, another test could listen on its port.
func TestRefuse(t *testing.T) {
	p, _ := start(t)
	old := dial(t, p)
	old.say("before")
	old.wants("before")
	set(t, p, tcpproxy.Refuse)
	if conn, err := net.Dial("tcp", p.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			_ = conn.Close()
		}
		t.Fatalf("dialling ended with %v, want that it is refused", err)
	}
	old.say("still")
	old.wants("still")
	set(t, p, tcpproxy.Pass)
	c := dial(t, p)
	c.say("back")
	c.wants("back")
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	p, e := start(t)
	old := dial(t, p)
	old.say("before")
	old.wants("before")
	set(t, p, tcpproxy.BlackHole)
	fresh := dial(t, p) // BlackHole accepts connections
	for _, c := range []*peer{old, fresh} {
		c.say("lost?")
		c.wantsSilence()
	}
	if e.received("lost?") {
		t.Error("the target got data in mode BlackHole")
	}
	set(t, p, tcpproxy.Pass)
	old.wants("lost?")
	fresh.wants("lost?")
	set(t, p, tcpproxy.BlackHole)
	old.say("never")
	p.Cut()
	old.wantsReset()
	if e.received("never") {
		t.Error("the target got data in mode BlackHole")
	}
}

func TestStrand(t *testing.T) {
	t.Parallel()
	p, e := start(t)
	old := dial(t, p)
	old.say("before")
	old.wants("before")
	if n := p.Strand(); n != 1 {
		t.Errorf("%d connections were stranded, want 1", n)
	}
	old.say("after")
	old.wantsSilence()
	fresh := dial(t, p)
	fresh.say("fresh")
	fresh.wants("fresh")
	if e.received("after") {
		t.Error("the target got data of a stranded connection")
	}
	p.Cut()
	old.wantsReset()
}

func TestSwallowAnswers(t *testing.T) {
	t.Parallel()
	p, e := start(t)
	p.SwallowAnswers(1)
	c := dial(t, p)
	c.say("done")
	c.wantsReset()
	if !e.received("done") {
		t.Error("the target did not get the request")
	}
	c = dial(t, p)
	c.say("next")
	c.wants("next")
}

// TestClose also shows, with TestMain, that no goroutine is left.
func TestClose(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	c := dial(t, p)
	c.say("hello")
	c.wants("hello")
	set(t, p, tcpproxy.BlackHole)
	p.Close()
	c.wantsReset()
	p.Close()
	if err := p.Set(tcpproxy.Pass); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed proxy changed its mode: %v", err)
	}
}

func TestATargetThatIsNotThere(t *testing.T) {
	t.Parallel()
	e := startEcho(t)
	address := e.listener.Addr().String()
	_ = e.listener.Close()
	p, err := tcpproxy.Start(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	conn, err := net.Dial("tcp", p.Address())
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
}
