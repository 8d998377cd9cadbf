package telemetry

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a server that receives metrics and traces by OTLP over HTTP.
type receiver struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	spans   []*spanpb.Span
	metrics map[string]bool
	raw     bytes.Buffer
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, metrics: map[string]bool{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(data)
	switch req.URL.Path {
	case "/v1/traces":
		var sent tracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &sent); err != nil {
			r.t.Error(err)
		}
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	case "/v1/metrics":
		var sent metricspb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(data, &sent); err != nil {
			r.t.Error(err)
		}
		for _, resource := range sent.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					r.metrics[m.GetName()] = true
				}
			}
		}
	default:
		r.t.Errorf("sent to %s", req.URL.Path)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// trace returns the spans of a trace by their ids. A span that was sent twice counts once.
func (r *receiver) trace(id string) map[string]*spanpb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string]*spanpb.Span{}
	for _, s := range r.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			found[hex.EncodeToString(s.GetSpanId())] = s
		}
	}
	return found
}
