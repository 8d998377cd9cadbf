package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ClientID and ClientSecret are those of the only client.
const (
	ClientID     = "client-1"
	ClientSecret = "cs-8Hq3VxPz5LrT2mWd"
)

// Answer is a response that the server sends instead of a token.
type Answer struct {
	Status int
	// Body is sent as it is, as JSON.
	Body       string
	RetryAfter string
	Location   string
}

// Server is an authorization server. Its fields are to be set before the first
// request, or under Lock.
type Server struct {
	sync.Mutex
	*httptest.Server
	// Life is the life of access tokens. With 0 the server does not state it, and they last an hour.
	Life time.Duration
	// Keeps says that refresh tokens do not rotate.
	Keeps bool
	// Grace makes the server take the refresh token before the last one as well. Without Grace, its use ends all tokens of
	// the consent.
	Grace bool
	// Scope is the scope of every token; empty means the requested scopes.
	Scope string
	// Instead may answer the n-th request for a token, from 1, before the server checks the request. If Instead is nil or returns nil, the server
	// answers.
	Instead func(n int) *Answer
	// Rotated is called when the server has made a new token, before it sends the token. If lose is true, the server does
	// not send it.
	Rotated func(n int) (lose bool)
	// Deny is the error with which the server answers a request for consent; empty means that it consents.
	Deny string

	asked, revoked []url.Values
	codes          map[string]url.Values
	families       map[string]*family
	access         map[string]*family
}

// family has the tokens that the server has issued for one consent.
type family struct {
	// current is the last refresh token, and before the one that it replaced.
	current, before string
	// dead says that the server refuses the refresh tokens.
	dead bool
	// ends is when the last access token expires.
	ends  time.Time
	scope string
}

// New starts a server for as long as the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Life: time.Hour, codes: map[string]url.Values{}, families: map[string]*family{}, access: map[string]*family{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Grant begins a family, as if somebody had consented, and returns its refresh
// token.
func (s *Server) Grant() string {
	s.Lock()
	defer s.Unlock()
	f := &family{current: rand.Text()}
	s.families[f.current] = f
	return f.current
}

// Token begins a family, and returns an access token of it and its refresh token.
func (s *Server) Token() (access, refresh string) {
	refresh, access = s.Grant(), rand.Text()
	s.Lock()
	defer s.Unlock()
	s.access[access] = s.families[refresh]
	s.families[refresh].ends = time.Now().Add(time.Hour)
	return access, refresh
}

// Valid reports whether an access token is good.
func (s *Server) Valid(token string) bool {
	s.Lock()
	defer s.Unlock()
	f := s.access[token]
	return f != nil && !f.dead && time.Now().Before(f.ends)
}

// Requests are those for tokens so far.
func (s *Server) Requests() []url.Values {
	s.Lock()
	defer s.Unlock()
	return append([]url.Values(nil), s.asked...)
}

// Revoked are the requests for revocation so far.
func (s *Server) Revoked() []url.Values {
	s.Lock()
	defer s.Unlock()
	return append([]url.Values(nil), s.revoked...)
}

// RefreshTokens are all refresh tokens so far, the old ones too.
func (s *Server) RefreshTokens() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Collect(maps.Keys(s.families))
}

// Expire ends every access token, and no refresh token.
func (s *Server) Expire() {
	s.Lock()
	defer s.Unlock()
	clear(s.access)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || redirect.Hostname() != "127.0.0.1" || q.Get("client_id") != ClientID || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") == "" {
		http.Error(w, "this is no request of the client", http.StatusBadRequest)
		return
	}
	s.Lock()
	defer s.Unlock()
	back := url.Values{"state": {q.Get("state")}}
	if s.Deny != "" {
		back.Set("error", s.Deny)
		back.Set("error_description", "the person said no")
	} else {
		code := rand.Text()
		s.codes[code] = q
		back.Set("code", code)
	}
	redirect.RawQuery = back.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

// client checks who asks.
func client(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	return id == ClientID && secret == ClientSecret
}

func refuse(w http.ResponseWriter, status int, code string) {
	// A description that must get nowhere.
	reply(w, status, map[string]any{"error": code, "error_description": "because of " + ClientSecret})
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.Lock()
	s.asked = append(s.asked, r.PostForm)
	n, instead, rotated := len(s.asked), s.Instead, s.Rotated
	s.Unlock()
	if instead != nil {
		if a := instead(n); a != nil {
			if a.RetryAfter != "" {
				w.Header().Set("Retry-After", a.RetryAfter)
			}
			if a.Location != "" {
				w.Header().Set("Location", a.Location)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(a.Status)
			_, _ = w.Write([]byte(a.Body))
			return
		}
	}
	if !client(r) {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	answer, code := s.issue(r)
	if code != "" {
		refuse(w, http.StatusBadRequest, code)
		return
	}
	if rotated != nil && rotated(n) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	}
	reply(w, http.StatusOK, answer)
}

// issue makes a token, or says why not.
func (s *Server) issue(r *http.Request) (answer map[string]any, code string) {
	s.Lock()
	defer s.Unlock()
	var f *family
	switch r.PostFormValue("grant_type") {
	case "client_credentials":
		f = &family{scope: r.PostFormValue("scope")}
	case "authorization_code":
		asked, ok := s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
			return nil, "invalid_grant"
		}
		f = &family{current: rand.Text(), scope: asked.Get("scope")}
		s.families[f.current] = f
	case "refresh_token":
		given := r.PostFormValue("refresh_token")
		f = s.families[given]
		switch {
		case f == nil || f.dead:
			return nil, "invalid_grant"
		case given != f.current && (!s.Grace || given != f.before):
			f.dead = true
			return nil, "invalid_grant"
		case !s.Keeps:
			f.before, f.current = given, rand.Text()
			s.families[f.current] = f
		}
	default:
		return nil, "unsupported_grant_type"
	}
	life := s.Life
	if life == 0 {
		life = time.Hour
	}
	f.ends = time.Now().Add(life)
	token := rand.Text()
	s.access[token] = f
	answer = map[string]any{"access_token": token, "token_type": "Bearer"}
	if s.Life > 0 {
		answer["expires_in"] = int(s.Life.Seconds())
	}
	if f.current != "" && (!s.Keeps || r.PostFormValue("grant_type") == "authorization_code") {
		answer["refresh_token"] = f.current
	}
	if f.scope != "" {
		answer["scope"] = f.scope
	}
	if s.Scope != "" {
		answer["scope"] = s.Scope
	}
	return answer, ""
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.Lock()
	defer s.Unlock()
	s.revoked = append(s.revoked, r.PostForm)
	if !client(r) {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	given := r.PostFormValue("token")
	if f := s.families[given]; f != nil {
		f.dead = true
	}
	if f := s.access[given]; f != nil {
		delete(s.access, given)
	}
}

// Bearer is the token of a request, "" if there is none.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
