package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostile is a label that tries to be markup, in an element, in an attribute and in a style.
const hostile = `<script>alert(1)</script>"' onload=x {{.Alerts}} </style>`

// prometheus answers each query with two series of a value at each step. The first lacks the middle. empty says which queries have no series.
func prometheus(t *testing.T, empty func(query string) bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/prefix/api/v1/query_range" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer token-1" {
			t.Errorf("Authorization: %s", got)
		}
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(r.FormValue(name), 64)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return v
		}
		query, start, end, step := r.FormValue("query"), number("start"), number("end"), number("step")
		if strings.Contains(query, "$") {
			t.Errorf("a variable is left: %s", query)
		}
		result := []any{}
		if !empty(query) {
			var some, all [][2]any
			for at := start; at <= end; at += step {
				all = append(all, [2]any{at, "1.5"})
				if at < start+(end-start)/3 || at > start+2*(end-start)/3 {
					some = append(some, [2]any{at, "3"})
				}
			}
			labels := func(v string) map[string]string {
				return map[string]string{"job": "pawl", "tool": v, "code": v, "check": v, "step": v, "kind": v, "instance": v}
			}
			result = append(result, map[string]any{"metric": labels(hostile), "values": some}, map[string]any{"metric": labels("b"), "values": append(all, [2]any{end, "NaN"}, [2]any{end, "+Inf"})})
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/prefix"
}

func options(address string) Options {
	return Options{Prometheus: address, Token: "token-1", Job: ".+", For: time.Hour, Now: time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)}
}

// TestReport: the page has all panels of the board and the alerts, shows a gap as a gap, loads nothing, and no label becomes markup.
func TestReport(t *testing.T) {
	var page bytes.Buffer
	if err := Write(t.Context(), &page, options(prometheus(t, func(query string) bool { return strings.Contains(query, "agent_tokens") }))); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	board, err := panels()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range board {
		if !strings.Contains(text, ">"+p.Title+"</h") {
			t.Errorf("there is no panel %q", p.Title)
		}
	}
	for _, want := range []string{
		"2026-11-27 02:00:00 UTC", "2026-11-27 03:00:00 UTC", "A worker is not ready: b", `alerts.md#pawlworkernotready"`, ">firing</b>", "since 02:40:15, and once before",
		"No data in this time.", "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39; onload=x", "3/s", "No alert fires",
	} {
		if found := strings.Contains(text, want); found == (want == "No alert fires") {
			t.Errorf("the page has %q: %v", want, found)
		}
	}
	for _, never := range []string{"<script", "alert(1)</script>", `" onload`, "src=", "@import", "url(", "NaN", "Inf", "ZgotmplZ", "token-1", "{{"} {
		if strings.Contains(strings.ReplaceAll(text, "{{.Alerts}} &lt;/style&gt;", ""), never) {
			t.Errorf("the page has %q", never)
		}
	}
	if strings.Count(text, "h3>Calls that end, by tool<") != 1 || strings.Count(text, "no data") > 0 {
		t.Error("the panels are not those of the board")
	}
	// The line with a gap begins twice.
	for _, d := range strings.Split(text, ` d="`)[1:] {
		if d, _, _ = strings.Cut(d, `"`); strings.Count(d, "M") == 2 {
			return
		}
	}
	t.Error("no line has a gap")
}

// TestFaults: each fault of Prometheus has a sentence that says what to do, and none has the password.
func TestFaults(t *testing.T) {
	answering := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		return strings.Replace(server.URL, "http://", "http://ann:s3same@", 1)
	}
	redirect := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer redirect.Close()
	for _, tc := range []struct{ address, want string }{
		{"localhost:9090", "the address of Prometheus is none"},
		{"http://ann:s3same@%zz", "the address of Prometheus is none"},
		{"http://ann:s3same@127.0.0.1:1", "http://ann:xxxxx@127.0.0.1:1 does not answer: dial tcp"},
		{answering(200, "<html>"), "answers with 200 OK, and not as a Prometheus"},
		{answering(401, "who?"), "answers with 401 Unauthorized, and not as a Prometheus"},
		{answering(422, `{"status":"error","errorType":"execution","error":"too many samples"}`), "refuses the query: too many samples"},
		{answering(200, `{"status":"success","data":{"resultType":"vector","result":[]}}`), "answers with something else than series"},
		{redirect.URL, "answers with 302 Found, and not as a Prometheus"},
		{answering(200, strings.Repeat(" ", maxAnswer+1)), "answers with more than 32 MiB"},
	} {
		var page bytes.Buffer
		err := Write(t.Context(), &page, options(tc.address))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3same") || page.Len() > 0 {
			t.Errorf("%s: %v, want %s", tc.address, err, tc.want)
		}
	}
	if err := Write(t.Context(), io.Discard, options(prometheus(t, func(string) bool { return true }))); !errors.Is(err, ErrEmpty) {
		t.Errorf("without metrics: %v", err)
	}
	bad := options("http://127.0.0.1:1")
	if bad.Job = "("; Write(t.Context(), io.Discard, bad) == nil {
		t.Error("a job that is no expression is accepted")
	}
}

// TestNumbers: values have three digits and a unit that a person reads.
func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0, "s", "0 s"}, {0.00042, "s", "420 µs"}, {0.0421, "s", "42.1 ms"}, {1.5, "s", "1.5 s"}, {600, "s", "10 min"}, {14400, "s", "4 h"}, {604800, "s", "7 d"},
		{12.345, "ops", "12.3/s"}, {123456, "short", "123 k"}, {2.5e9, "short", "2.5 G"}, {1536, "bytes", "1.5 KiB"}, {3 << 30, "bytes", "3 GiB"}, {1234, "short", "1234"},
		{999_600, "short", "1000 k"}, {999_600_000, "short", "1000 M"}, {2e12, "short", "2000 G"},
	} {
		if got := number(tc.value, tc.unit); got != tc.want {
			t.Errorf("%v %s is %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
	for v, want := range map[float64]float64{0: 1, 0.03: 0.04, 1: 1, 1.1: 2, 9: 10, 70: 80} {
		if got := ceiling(v); fmt.Sprint(float32(got)) != fmt.Sprint(float32(want)) {
			t.Errorf("the top of %v is %v, want %v", v, got, want)
		}
	}
}
