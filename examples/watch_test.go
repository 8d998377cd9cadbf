package examples_test

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var watchAddress = regexp.MustCompile(`at (http://\S+/) with the token (\S+)`)

// watch: the page is there, and the stream of a run shows a call from its start over its progress to its result while it happens.
func watch(t *testing.T, w *world) {
	log := w.work("watch", "-listen", "127.0.0.1:0")
	var address, token string
	w.until(func() bool {
		found := watchAddress.FindStringSubmatch(log.String())
		if found != nil {
			address, token = found[1], found[2]
		}
		return found != nil
	}, "the page is served", log)
	type reply struct {
		status int
		header http.Header
		body   io.Reader
	}
	get := func(path, bearer string) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return reply{response.StatusCode, response.Header, response.Body}
	}
	for _, name := range []string{"", "watch.js", "watch.css"} {
		response := get(name, "")
		text, err := io.ReadAll(response.body)
		if err != nil || response.status != http.StatusOK || len(text) == 0 || !strings.HasPrefix(response.header.Get("Content-Security-Policy"), "default-src 'none'") ||
			strings.Contains(string(text), token) {
			t.Errorf("/%s: status %d, %d bytes, %v", name, response.status, len(text), err)
		}
	}
	// A first call makes the run known.
	if got := w.invoke("core__ls", `{}`, "--run", "demo", "--actor", "user:ann"); !got.OK {
		t.Fatalf("%+v", got)
	}
	if got := w.invoke("core__ls", `{}`, "--run", "other", "--actor", "user:bob"); !got.OK {
		t.Fatalf("%+v", got)
	}
	const demo, other = "v1/runs/demo/events?tenant=acme", "v1/runs/other/events?tenant=acme"
	if a, b := get(demo, token[1:]).status, get(other, token).status; a != 401 || b != 404 {
		t.Errorf("a wrong token gets %d, and the run of another actor %d", a, b)
	}
	response := get(demo, token)
	if response.status != http.StatusOK {
		t.Fatalf("status %d", response.status)
	}
	lines := bufio.NewReader(response.body)
	read := func(words ...string) string {
		t.Helper()
		var before strings.Builder
		for {
			line, err := lines.ReadString('\n')
			before.WriteString(line)
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				return line
			}
			if err != nil {
				t.Fatalf("no line with %q: %v\n%s\n%s", words, err, before.String(), log)
			}
		}
	}
	read("tool-output-available", `"entries"`)
	ended := make(chan bool, 1)
	go func() {
		_, _, err := w.try("invoke", "report__index", "--args", `{"files":30,"milliseconds":200}`, "--run", "demo", "--actor", "user:ann")
		ended <- err == nil
	}()
	read("tool-input-start", "report__index")
	read("tool-output-available", `"preliminary":true`, `"total":30`)
	select {
	case <-ended:
		t.Error("the progress comes after the result")
	default:
	}
	read("tool-output-available", `"files":30`)
	if !<-ended {
		t.Error("the call failed")
	}
}
