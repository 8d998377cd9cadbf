package openfga_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/openfga"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "a-key-of-a-test"

// server is a real one, with a store of the documented model.
type server struct {
	t     *testing.T
	url   string
	store string
	model string
}

func start(t *testing.T) (*server, *devstack.OpenFGA) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the OpenFGA server, the first time")
	}
	running, err := devstack.StartOpenFGA(t.Context(), devstack.OpenFGAOptions{Key: key, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s := &server{t: t, url: running.URL()}
	var made struct {
		ID      string `json:"id"`
		ModelID string `json:"authorization_model_id"`
	}
	s.post("/stores", map[string]string{"name": "pawl"}, &made)
	s.store = made.ID
	model, err := os.ReadFile("../../docs/openfga-model.json")
	if err != nil {
		t.Fatal(err)
	}
	s.post("/stores/"+s.store+"/authorization-models", json.RawMessage(model), &made)
	s.model = made.ModelID
	return s, running
}

func (s *server) post(path string, body, into any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		s.t.Fatalf("%s: %s %s", path, response.Status, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatal(err)
		}
	}
}

type condition struct {
	Name    string            `json:"name"`
	Context map[string]string `json:"context"`
}

type fact struct {
	User      string     `json:"user"`
	Relation  string     `json:"relation"`
	Object    string     `json:"object"`
	Condition *condition `json:"condition,omitempty"`
}

func (s *server) change(verb string, facts ...fact) {
	s.t.Helper()
	for _, f := range facts {
		if verb == "deletes" {
			f.Condition = nil
		}
		s.post("/stores/"+s.store+"/write", map[string]any{verb: map[string]any{"tuple_keys": []fact{f}}}, nil)
	}
}

func (s *server) engine(change func(*openfga.Options)) *openfga.Engine {
	s.t.Helper()
	o := openfga.Options{URL: s.url, StoreID: s.store, ModelID: s.model, Token: key}
	if change != nil {
		change(&o)
	}
	e, err := openfga.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(e.Close)
	return e
}

// written is a fact of the contract as docs/authorization.md says to write it.
func written(f authztest.Fact) fact {
	named := func(id string) string {
		kind, name, _ := strings.Cut(id, ":")
		id = kind + ":" + f.TenantID + "/" + name
		if kind == "group" || kind == "role" {
			id += "#member"
		}
		return id
	}
	out := fact{User: named(f.Subject), Relation: string(f.Kind)}
	prefix, glob := strings.CutSuffix(f.Tools, "*")
	switch {
	case f.Kind == authz.Member:
		out.Object = strings.TrimSuffix(named(f.Object), "#member")
	case f.Kind == authz.Delegates:
		out.Object = named(f.Object)
		out.Condition = &condition{"tool_is", map[string]string{"only": f.Tools}}
		if glob {
			out.Condition = &condition{"tool_begins", map[string]string{"prefix": prefix}}
		}
	case glob:
		out.Object, out.Condition = "tenant:"+f.TenantID, &condition{"tool_begins", map[string]string{"prefix": prefix}}
	default:
		out.Object = "tool:" + f.TenantID + "/" + f.Tools
		if f.GraphID != "" {
			out.Condition = &condition{"in_graph", map[string]string{"only": f.GraphID}}
		}
	}
	return out
}

// TestContract: OpenFGA, under the documented model, answers what the built-in engine does (ID-04). The server is a real one.
func TestContract(t *testing.T) {
	s, running := start(t)
	for _, f := range authztest.Facts() {
		s.change("writes", written(f))
	}
	engine := s.engine(nil)
	authztest.Contract(t, engine, "key")
	ask := authz.Request{TenantID: "acme", ActorID: "agent:direct", ToolID: "core__read", Permission: authz.Execute}
	check := func(e *openfga.Engine, r authz.Request) bool {
		t.Helper()
		d, err := e.Check(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return d.Allowed
	}
	t.Run("revoked", func(t *testing.T) {
		direct := fact{User: "agent:acme/direct", Relation: "execute", Object: "tool:acme/core__read"}
		s.change("deletes", direct)
		if check(engine, ask) {
			t.Error("it counts still")
		}
		s.change("writes", direct)
		if !check(engine, ask) {
			t.Error("it does not count again")
		}
	})
	t.Run("with an end", func(t *testing.T) {
		for name, want := range map[string]bool{"later": true, "past": false} {
			end := time.Now().Add(time.Hour)
			if !want {
				end = time.Now().Add(-time.Hour)
			}
			s.change("writes", fact{"agent:acme/" + name, "execute", "tool:acme/core__read", &condition{"until", map[string]string{"end": end.UTC().Format(time.RFC3339)}}})
			r := ask
			if r.ActorID = "agent:" + name; check(engine, r) != want {
				t.Errorf("%s: want %t", name, want)
			}
		}
	})
	t.Run("a strange name", func(t *testing.T) {
		s.change("writes", fact{User: "user:acme/ann%20b%2Fc%3Ad%23e%C3%A9", Relation: "execute", Object: "tool:acme/core__read"})
		r := ask
		if r.ActorID = "user:ann b/c:d#eé"; !check(engine, r) {
			t.Error("it is not found")
		}
	})
	// What is wrong with us is no answer either: it may be mended while the call waits.
	for name, change := range map[string]func(*openfga.Options){
		"a wrong key":    func(o *openfga.Options) { o.Token = "another" },
		"no key":         func(o *openfga.Options) { o.Token = "" },
		"no such store":  func(o *openfga.Options) { o.StoreID = "01ARZ3NDEKTSV4RRFFQ69G5FAV" },
		"no such model":  func(o *openfga.Options) { o.ModelID = "01ARZ3NDEKTSV4RRFFQ69G5FAV" },
		"somewhere else": func(o *openfga.Options) { o.URL += "/elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			d, err := s.engine(change).Check(t.Context(), ask)
			if err == nil || d.Allowed || strings.Contains(err.Error(), "another") {
				t.Errorf("got %+v, %v", d, err)
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		if err := running.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d, err := engine.Check(t.Context(), ask); err == nil || d.Allowed {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

// TestNoAnswer (fault 46): only a yes is a yes.
func TestNoAnswer(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"allowed":true}`, http.StatusInternalServerError)
		},
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"allowed":true}`, http.StatusTooManyRequests)
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/yes", http.StatusTemporaryRedirect)
		},
		"another success": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"allowed":true}`))
		},
		"nothing":        func(http.ResponseWriter, *http.Request) {},
		"not JSON":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`allowed`)) },
		"another answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"resolution":""}`)) },
		"null":           func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"allowed":null}`)) },
		"a text":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"allowed":"true"}`)) },
		"two answers": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"allowed":true}{"allowed":false}`))
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = w.Write([]byte(`{"allowed":true}`))
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"allowed":true,"x":"` + strings.Repeat("x", 2<<20) + `"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/yes" {
					_, _ = w.Write([]byte(`{"allowed":true}`))
					return
				}
				serve(w, r)
			}))
			defer fake.Close()
			e, err := openfga.New(openfga.Options{URL: fake.URL, StoreID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			d, err := e.Check(t.Context(), authz.Request{TenantID: "acme", ActorID: "agent:a", ToolID: "core__read", Permission: authz.Execute})
			if err == nil || d.Allowed {
				t.Errorf("got %+v, %v", d, err)
			}
		})
	}
	t.Run("in time", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		fake := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that nobody waits
			<-r.Context().Done()
		}))
		defer fake.Close()
		e, err := openfga.New(openfga.Options{URL: fake.URL, StoreID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if d, err := e.Check(ctx, authz.Request{TenantID: "acme", ActorID: "agent:a", ToolID: "core__read", Permission: authz.Execute}); err == nil || d.Allowed {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

func TestOptions(t *testing.T) {
	for _, o := range []openfga.Options{
		{StoreID: "s"}, {URL: "fga:8080", StoreID: "s"}, {URL: "ftp://fga", StoreID: "s"}, {URL: "https://u:p@fga", StoreID: "s"}, {URL: "https://fga?x=y", StoreID: "s"},
		{URL: "https://fga"}, {URL: "https://fga", StoreID: "../x"},
	} {
		if _, err := openfga.New(o); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
