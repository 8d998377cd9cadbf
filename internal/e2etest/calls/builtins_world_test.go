package calls

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/sandbox"
	"github.com/pawl-run/pawl/worker"
)

// localWeb has two web servers on this machine. The first one is also a search service.
type localWeb struct {
	t           *testing.T
	page, other *url.URL

	mu   sync.Mutex
	seen map[string]int
}

func newLocalWeb(t *testing.T) *localWeb {
	t.Helper()
	l := &localWeb{t: t, seen: map[string]int{}}
	l.page, l.other = l.serve("127.0.0.1:0"), l.serve("127.0.0.2:0")
	return l
}

func (l *localWeb) serve(address string) *url.URL {
	l.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: l}} //nolint:gosec // the test is its only client
	server.Start()
	l.t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		l.t.Fatal(err)
	}
	return u
}

// ServeHTTP implements http.Handler.
func (l *localWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uri := r.URL.RequestURI()
	switch r.URL.Path {
	case "/page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>Foxes</title><article><h1>Foxes</h1><p>The fox jumps over %s.</article>", uri)
	case "/search":
		uri = "/search?" + r.URL.Query().Get("q")
		_, _ = io.WriteString(w, `{"results":[{"title":"Fox","url":"https://fox.test/","content":"A fox."}]}`)
	default:
		http.NotFound(w, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[uri]++
}

// requests returns how often a page was requested, or a word was searched for.
func (l *localWeb) requests(uri string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[uri]
}

func (l *localWeb) ports() (ports []uint16) {
	l.t.Helper()
	for _, u := range []*url.URL{l.page, l.other} {
		var port uint16
		if _, err := fmt.Sscan(u.Port(), &port); err != nil {
			l.t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

// shellOf returns the configuration of core__shell for a workspace, and if the test runs as root, changes the owner of the workspace to another user. In CI
// the sandbox must be complete.
func shellOf(t *testing.T, workspace string) worker.Shell {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := filepath.WalkDir(workspace, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, 12345, 12345)
		}); err != nil {
			t.Fatal(err)
		}
	}
	shell := worker.Shell{On: true}
	_, err := shell.Protections(t.Context(), workspace)
	if err != nil && os.Getenv("CI") == "" {
		shell.Without = []string{sandbox.Cgroup}
		if _, err = shell.Protections(t.Context(), workspace); err != nil && os.Geteuid() != 0 {
			t.Log("this machine has no sandbox, so core__shell is left out: ", err)
			return worker.Shell{}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return shell
}
