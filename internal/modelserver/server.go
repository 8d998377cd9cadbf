package modelserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/provider"
)

// format describes the API of a provider.
type format struct {
	// prefix and suffix are the path of the API: the model stands between them if there is a suffix.
	prefix, suffix string
	// decode reads the body. model is the model that the path names.
	decode func(body []byte, model string) (Request, error)
	// frames are the pieces of the streamed body of a reply.
	frames func(Reply, Request) []string
	// fail is the body of an error, and late the frame of one inside of a stream.
	fail, late func(status int, text string) string
	// contentType is the media type of the stream.
	contentType string
	// seal returns the form of a reasoning in which a client must send it back, together with the calls that follow the
	// reasoning. seal is nil, or returns "", if the provider does not ask for reasoning.
	seal func(reasoning string, r Request) string
}

// maxKept bounds the bodies that a server keeps, in bytes: each request of a long run repeats the whole run.
const maxKept = 64 << 20

const events = "text/event-stream"

var formats = map[string]format{
	"openai":    {"/v1/chat/completions", "", decodeChat, chatFrames, openaiError, openaiLate, events, plain},
	"responses": {"/v1/responses", "", decodeItems, itemFrames, openaiError, responsesLate, events, encrypted},
	"anthropic": {"/v1/messages", "", decodeAnthropic, anthropicFrames, anthropicError, anthropicLate, events, signed},
	"gemini":    {"/v1beta/models/", ":streamGenerateContent", decodeGemini, geminiFrames, geminiError, geminiLate, events, signed},
	"ollama":    {"/api/chat", "", decodeOllama, ollamaFrames, ollamaError, ollamaLate, "application/x-ndjson", nil},
}

// Server is a provider of models on loopback. It is safe for concurrent use.
type Server struct {
	// URL is the base of provider.Request.New.
	URL *url.URL

	format format
	answer func(Request) Reply
	http   http.Server
	active sync.WaitGroup

	mutex     sync.Mutex
	requests  []Request
	kept      int // bytes of bodies
	forgotten int // the first requests, of which the content is no longer kept
	asked     map[[32]byte]int
	reasoning map[string]string // by the id of a call: what must come back with it
}

// T is the part of testing.TB that Serve needs.
type T interface {
	Helper()
	Cleanup(cleanup func())
	Fatalf(format string, args ...any)
}

// Serve starts a server for a test and closes it at the end. See Start.
func Serve(t T, format string, answer func(Request) Reply) *Server {
	t.Helper()
	s, err := Start(format, answer)
	if err != nil {
		t.Fatalf("start a server of models: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server of a format of toolspec/wire, such as openai. answer picks the reply to a request: see
// Script. It is called by several goroutines. The caller closes the server.
func Start(name string, answer func(Request) Reply) (*Server, error) {
	return Listen(name, "127.0.0.1:0", answer)
}

// Listen is Start at an address, such as 127.0.0.1:8231.
func Listen(name, address string, answer func(Request) Reply) (*Server, error) {
	f, ok := formats[name]
	if !ok {
		return nil, fmt.Errorf("modelserver: unknown format %q", name)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("modelserver: %w", err)
	}
	s := &Server{
		URL:    &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: provider.Base(name)},
		format: f, answer: answer, asked: map[[32]byte]int{}, reasoning: map[string]string{},
	}
	s.http = http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	s.active.Go(func() {
		_ = s.http.Serve(listener) // it returns when Close closes the listener
	})
	return s, nil
}

// Close ends the server and its connections, and waits until no request is served.
func (s *Server) Close() {
	_ = s.http.Close()
	s.active.Wait()
}

// Requests returns the requests in the order of their arrival. If the bodies of all requests have more than 64 MiB, the
// oldest requests have only the model and the counts.
func (s *Server) Requests() []Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.requests)
}

// Asked returns how many requests came with conversations of this many answers.
func (s *Server) Asked(answers int) (n int) {
	for _, r := range s.Requests() {
		if r.Answers == answers {
			n++
		}
	}
	return n
}

func (s *Server) serve(w http.ResponseWriter, got *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	path := got.URL.Path
	model, ok := strings.CutPrefix(path, s.format.prefix)
	if ok {
		model, ok = strings.CutSuffix(model, s.format.suffix)
	}
	if !ok || got.Method != http.MethodPost || s.format.suffix == "" && model != "" {
		s.refuse(w, http.StatusNotFound, Reply{Text: "no such path"})
		return
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return
	}
	r, err := s.format.decode(body, model)
	r.Header, r.Body = got.Header.Clone(), body
	if err == nil {
		err = r.check()
	}
	if err == nil {
		err = s.missing(r)
	}
	reply := Reply{Status: http.StatusBadRequest}
	if err != nil {
		reply.Text = err.Error()
	}
	r.Asked = s.count(r)
	if err == nil {
		reply = s.answer(r)
		if r.Asked < len(reply.Before) {
			reply = reply.Before[r.Asked]
		}
	}
	r.Status = http.StatusOK
	if reply.Status != 0 && !reply.InStream {
		r.Status = reply.Status
	}
	s.record(r)
	s.send(w, got, r, reply)
}

// record keeps a request, and the content of the last ones.
func (s *Server) record(r Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r)
	for s.kept += len(r.Body); s.kept > maxKept && s.forgotten < len(s.requests)-1; s.forgotten++ {
		old := &s.requests[s.forgotten]
		s.kept -= len(old.Body)
		old.Messages, old.Tools, old.Header, old.Body, old.System = nil, nil, nil, nil, ""
	}
}

// count counts a request and returns how often its conversation came before.
func (s *Server) count(r Request) int {
	conversation, err := json.Marshal([]any{r.Model, r.System, r.Messages})
	if err != nil {
		panic(err) // a list of texts has a form in JSON
	}
	key := sha256.Sum256(conversation)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked[key]++
	return s.asked[key] - 1
}

// missing returns an error for a message that lacks the reasoning which came with its calls.
func (s *Server) missing(r Request) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i, m := range r.Messages {
		for _, c := range m.Calls {
			if want := s.reasoning[c.ID]; want != "" && m.Reasoning != want {
				return fmt.Errorf("message %d: the call %s came with reasoning that is missing", i, c.ID)
			}
		}
	}
	return nil
}

func (s *Server) refuse(w http.ResponseWriter, status int, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s.format.fail(status, reply.Text))
}

// send sends a reply. The second half of its frames waits for Hang.
func (s *Server) send(w http.ResponseWriter, got *http.Request, r Request, reply Reply) {
	if !wait(got, reply.Delay) {
		return
	}
	if r.Status != http.StatusOK {
		s.refuse(w, r.Status, reply)
		return
	}
	reply.Calls = withIDs(reply.Calls, r.Answers)
	frames := s.format.frames(reply, r)
	half := (len(frames) + 1) / 2
	if reply.InStream {
		frames = append(frames[:half:half], s.format.late(reply.Status, reply.Text))
	} else if s.format.seal != nil {
		s.keep(r, reply)
	}
	w.Header().Set("Content-Type", s.format.contentType)
	left := reply.Cut
	for i, frame := range frames {
		if i == half && !wait(got, reply.Hang) {
			return
		}
		if reply.Cut > 0 {
			frame = frame[:min(left, len(frame))]
			left -= len(frame)
		}
		if _, err := io.WriteString(w, frame); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		if reply.Cut > 0 && left == 0 {
			panic(http.ErrAbortHandler) // ends the connection inside of the body
		}
	}
}

// keep notes the reasoning that has to come back with the calls of a reply.
func (s *Server) keep(r Request, reply Reply) {
	if reply.Reasoning == "" || reply.Cut > 0 {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, c := range reply.Calls {
		if c.ID != "" {
			s.reasoning[c.ID] = s.format.seal(reply.Reasoning, r)
		}
	}
}

// wait waits for gate, if there is one, and reports false if the request ended before.
func wait(got *http.Request, gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-got.Context().Done():
		return false
	}
}

// withIDs gives an id to each call without one. It depends on the conversation alone.
func withIDs(calls []Call, answers int) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		switch calls[i].ID {
		case NoID:
			calls[i].ID = ""
		case "":
			calls[i].ID = fmt.Sprintf("call_%d_%d", answers+1, i+1)
		}
	}
	return calls
}

// plain is the form of a reasoning that comes back as it was sent.
func plain(reasoning string, _ Request) string { return reasoning }

func signed(reasoning string, _ Request) string { return sealed(reasoning) }

// sealed is the form of a reasoning that a provider wants back: its signature, or its encrypted text.
func sealed(reasoning string) string {
	sum := sha256.Sum256([]byte(reasoning))
	return fmt.Sprintf("sealed%x", sum[:8])
}
