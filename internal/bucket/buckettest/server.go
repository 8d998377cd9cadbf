package buckettest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/pawl-run/pawl/internal/bucket"
)

// Credentials of tests. The server checks no signature.
const (
	AccessKey = "AKIATESTKEYOFPAWL"
	SecretKey = "test-secret-of-the-bucket"
	name      = "pawl-outputs"
)

// Server is a server with one bucket.
type Server struct {
	URL string

	backend *s3mem.Backend
	// mode is what the server does with a request.
	mode atomic.Int32
	// refused is a method that is answered by 503 with mode refuse.
	refused       atomic.Pointer[string]
	authorization atomic.Pointer[string]
	puts          atomic.Int64
}

const (
	serve = iota
	hang
	refuse
)

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{backend: s3mem.New()}
	if err := s.backend.CreateBucket(name); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed := r.Header.Get("Authorization")
		s.authorization.Store(&signed)
		switch method := s.refused.Load(); {
		case s.mode.Load() == hang:
			select {
			case <-ended:
			case <-r.Context().Done():
			}
			return
		case s.mode.Load() == refuse && (method == nil || *method == r.Method):
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
		if r.Method == http.MethodPut {
			s.puts.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	s.URL = server.URL
	return s
}

// Hang makes the server answer nothing.
func (s *Server) Hang() { s.mode.Store(hang) }

// Refuse makes the server answer requests of a method with 503; "" means every request.
func (s *Server) Refuse(method string) {
	s.refused.Store(nil)
	if method != "" {
		s.refused.Store(&method)
	}
	s.mode.Store(refuse)
}

// Serve makes the server answer again.
func (s *Server) Serve() { s.mode.Store(serve) }

// Puts returns how many objects were put.
func (s *Server) Puts() int64 { return s.puts.Load() }

// Authorization returns the header of the last request.
func (s *Server) Authorization() string { return *s.authorization.Load() }

// Address returns the address of the bucket, with a prefix.
func (s *Server) Address() string { return addressOf(s.URL) }

func addressOf(endpoint string) string {
	return "s3://" + name + "/outputs?path_style=true&endpoint=" + url.QueryEscape(endpoint)
}

// Open opens the bucket. The environment has Credentials.
func (s *Server) Open(t testing.TB) *bucket.Bucket { return open(t, s.Address()) }

// OpenToRead opens the bucket with write=false.
func (s *Server) OpenToRead(t testing.TB) *bucket.Bucket { return open(t, s.Address()+"&write=false") }

// OpenAt opens the bucket at another endpoint.
func OpenAt(t testing.TB, endpoint string) *bucket.Bucket { return open(t, addressOf(endpoint)) }

func open(t testing.TB, address string) *bucket.Bucket {
	t.Helper()
	at, err := bucket.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Keys returns the keys of all objects.
func (s *Server) Keys(t testing.TB) (keys []string) {
	t.Helper()
	list, err := s.backend.ListBucket(name, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}

// Environment returns the variables with which a program finds credentials, and nothing else of the machine.
func Environment(dir string) map[string]string {
	none := filepath.Join(dir, "none")
	return map[string]string{
		"AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey, "AWS_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	}
}

// Credentials sets Environment for the test.
func Credentials(t *testing.T) {
	t.Helper()
	for name, value := range Environment(t.TempDir()) {
		t.Setenv(name, value)
	}
}

// SetCredentials sets Environment for all tests of a program, from its TestMain.
func SetCredentials() {
	for name, value := range Environment(os.TempDir()) {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}
