package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/bucket"
	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://pawl-outputs":                  "s3://pawl-outputs/",
		"s3://pawl-outputs/team/prod":        "s3://pawl-outputs/team/prod/",
		"s3://pawl-outputs/team/":            "s3://pawl-outputs/team/",
		"s3://b.example?region=eu-central-1": "s3://b.example/",
		"s3://pawl-outputs/p?endpoint=https://minio.internal:9000&path_style=true": "s3://pawl-outputs/p/",
	} {
		if at, err := bucket.Parse(text); err != nil || at.String() != want || at.IsZero() {
			t.Errorf("%s: %s, %v", text, at, err)
		}
	}
	for _, text := range []string{
		"pawl-outputs", "https://pawl-outputs", "s3://", "s3://UPPER", "s3://b/../../x y", "s3://pawl-outputs/a%00b", "s3://key:canary@pawl-outputs",
		"s3://pawl-outputs?secret=canary", "s3://pawl-outputs?endpoint=ftp://x", "s3://pawl-outputs?endpoint=https://u:canary@x", "s3://pawl-outputs?path_style=canary", "s3://pawl-outputs?write=canary",
		"s3://pawl-outputs?region=a&region=b",
	} {
		if at, err := bucket.Parse(text); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %s, %v", text, at, err)
		}
	}
	if at, err := bucket.Parse(""); err != nil || !at.IsZero() {
		t.Errorf("no address: %v, %v", at, err)
	}
}

func TestObjects(t *testing.T) {
	buckettest.Credentials(t)
	server := buckettest.New(t)
	b := server.Open(t)
	data := bytes.Repeat([]byte{0, 1, 2, 255}, 100_000)
	if _, found, err := b.Get(t.Context(), "key", 10); found || err != nil {
		t.Errorf("an object that is not there: %t, %v", found, err)
	}
	if err := b.Put(t.Context(), "key", data); err != nil {
		t.Fatal(err)
	}
	if got, found, err := b.Get(t.Context(), "key", len(data)+1); !found || err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %t, %v", len(got), found, err)
	}
	if got, _, err := b.Get(t.Context(), "key", 10); err != nil || len(got) != 10 {
		t.Errorf("%d bytes of at most 10, %v", len(got), err)
	}
	if keys := server.Keys(t); len(keys) != 1 || keys[0] != "outputs/key" {
		t.Errorf("the bucket has %q", keys)
	}
	for range 2 { // a second time there is none
		if err := b.Delete(t.Context(), "key"); err != nil {
			t.Error(err)
		}
	}
	if keys := server.Keys(t); len(keys) != 0 {
		t.Errorf("the bucket has %q", keys)
	}
}

// TestFailures: an error passes by itself, takes a bounded time, and says neither what the server wrote nor a credential.
func TestFailures(t *testing.T) {
	buckettest.Credentials(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	_ = listener.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>canary " + r.Header.Get("Authorization") + "</Message></Error>"))
	}))
	t.Cleanup(refusing.Close)
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("canary"))
	}))
	t.Cleanup(failing.Close)
	for name, c := range map[string]struct{ endpoint, want string }{
		"no server": {address, "no connection"}, "refused": {refusing.URL, "AccessDenied"}, "a server that fails": {failing.URL, "ServiceUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			b := buckettest.OpenAt(t, c.endpoint)
			for _, err := range []error{b.Put(t.Context(), "k", []byte("x")), func() error { _, _, err := b.Get(t.Context(), "k", 9); return err }(), b.Delete(t.Context(), "k")} {
				var failed *bucket.Error
				if !errs.IsTransient(err) || !errors.As(err, &failed) || failed.Code != c.want {
					t.Errorf("%v, want %s", err, c.want)
				}
				if hint := strings.Contains(err.Error(), "s3:PutObject"); hint != (c.want == "AccessDenied") {
					t.Errorf("%v names the permissions: %t", err, hint)
				}
				for _, secret := range []string{"canary", buckettest.AccessKey, buckettest.SecretKey} {
					if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(errs.Reason(err), secret)) {
						t.Errorf("%v has %s", err, secret)
					}
				}
			}
		})
	}
	hanging := buckettest.New(t)
	hanging.Hang()
	b := hanging.Open(t)
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.Put(soon, "k", []byte("x")); !errs.IsTransient(err) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not answer: %v", err)
	}
}

// TestEnvironment: what the address does not say comes from the variables of the AWS SDK.
func TestEnvironment(t *testing.T) {
	buckettest.Credentials(t)
	at, err := bucket.Parse("s3://pawl-outputs?path_style=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_REGION", "")
	if _, err := bucket.Open(t.Context(), at); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
	server := buckettest.New(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	b, err := bucket.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "k", []byte("x")); err != nil || len(server.Keys(t)) != 1 {
		t.Errorf("%v; the bucket has %q", err, server.Keys(t))
	}
	if got := server.Authorization(); !strings.Contains(got, buckettest.AccessKey) || !strings.Contains(got, "/eu-central-1/s3/") {
		t.Errorf("the request is signed by %s", got)
	}
}
