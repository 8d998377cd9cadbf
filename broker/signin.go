package broker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

const (
	// signInTime is how long a person has to consent.
	signInTime = 5 * time.Minute
	// callbackPath is where the browser comes back to.
	callbackPath = "/callback"
	// goodbye is how long the last page has to reach the browser.
	goodbye = 2 * time.Second
)

// SignIn has the settings of Broker.SignIn, which signs a person in to an account at the service of Provider. Scopes are
// the scopes to request.
type SignIn struct {
	Provider Provider
	Scopes   []string
	// Client has the client id and, if there is one, the client secret. The caller keeps its
	// ownership.
	Client Credential
	// Show gets the URL that the person opens.
	Show func(url string) error
	// Port is the port of this machine to which the browser returns. 0 is any free port, which
	// servers must accept (RFC 8252 section 7.3).
	Port int
	// Within bounds the time for the sign-in; 0 is five minutes.
	Within time.Duration
}

// SignedIn is the result of a sign-in.
type SignedIn struct {
	// Credential is the client's parts with the tokens. The caller destroys it.
	Credential Credential
	// Lasts is the remaining life of the access token; 0 is without end.
	Lasts time.Duration
	// Renews reports whether there is a refresh token. Without one, a person must sign in again
	// when the access token expires.
	Renews bool
	// Missing are the requested scopes that were not granted.
	Missing []string
}

// SignIn waits on a loopback address until a person consents in a browser (RFC 8252), and exchanges
// the code for tokens, with PKCE (RFC 7636). Its errors contain only the error code of the server's
// answer.
func (b *Broker) SignIn(ctx context.Context, s SignIn) (SignedIn, error) {
	o := s.Provider.OAuth2
	if o == nil || o.Flow != AuthorizationCode {
		return SignedIn{}, fmt.Errorf("the provider %s has no sign-in: only oauth2 with the flow authorization_code has one", s.Provider.ID)
	}
	if err := o.check(s.Provider.Insecure); err != nil {
		return SignedIn{}, err
	}
	if s.Within <= 0 {
		s.Within = signInTime
	}
	ctx, cancel := context.WithTimeout(ctx, s.Within)
	defer cancel()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", s.Port))
	if err != nil {
		return SignedIn{}, fmt.Errorf("no port for the browser to return to: %w", err)
	}
	t := b.tokens(s.Provider)
	back := newCallback(listener.Addr().String())
	server := &http.Server{Handler: back, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close()
		}
		serving.Wait()
	}()
	config := t.config(s.Client)
	config.RedirectURL, config.Scopes = "http://"+back.host+callbackPath, s.Scopes
	verifier := oauth2.GenerateVerifier()
	if err := s.Show(config.AuthCodeURL(back.state, append(t.resource(), oauth2.S256ChallengeOption(verifier))...)); err != nil {
		return SignedIn{}, err
	}
	var answer consent
	select {
	case answer = <-back.came:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return SignedIn{}, fmt.Errorf("nobody signed in within %s", s.Within)
		}
		return SignedIn{}, ctx.Err()
	}
	if !o.isFrom(answer) {
		return SignedIn{}, errors.New("the answer to the sign-in names another authorization server than the provider, or none: it was not used")
	}
	if answer.refused != "" {
		return SignedIn{}, fmt.Errorf("the authorization server refused the sign-in: %s", answer.refused)
	}
	credential, got, f := t.exchanged(ctx, s.Client, answer.code, verifier, config.RedirectURL)
	if f != nil {
		return SignedIn{}, f
	}
	return SignedIn{credential, got.lasts, o.renews(credential), missing(s.Scopes, got.scopes)}, nil
}

// consent has the parameters with which the browser comes back.
type consent struct {
	code, refused string
	// issuer is the issuer that the answer names; nil if it names none.
	issuer *string
}

// isFrom reports whether an answer may be from the authorization server, by the issuer that the answer names. Texts
// are compared without any normalization.
func (o OAuth2) isFrom(c consent) bool {
	if c.issuer == nil {
		return !o.NamesIssuer
	}
	return o.Issuer == "" || *c.issuer == o.Issuer
}

// callback is the page that the browser comes back to, once.
type callback struct {
	host, state string
	came        chan consent
	once        sync.Once
}

func newCallback(host string) *callback {
	return &callback{host: host, state: rand.Text(), came: make(chan consent, 1)}
}

// ServeHTTP accepts the answer with the right state. It rejects every other request and keeps
// waiting.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	say := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, text)
	}
	q := r.URL.Query()
	switch {
	case r.URL.Path != callbackPath:
		say(http.StatusNotFound, "There is nothing here.")
		return
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		say(http.StatusMethodNotAllowed, "Only GET.")
		return
	case r.Host != c.host, subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		say(http.StatusBadRequest, "This is not the sign-in that is waited for.")
		return
	case q.Get("code") == "" && q.Get("error") == "":
		say(http.StatusBadRequest, "The answer has neither a code nor an error.")
		return
	}
	first := false
	c.once.Do(func() {
		first = true
		answer := consent{code: q.Get("code")}
		if code := q.Get("error"); code != "" {
			answer = consent{refused: "other"}
			if _, ok := known[code]; ok {
				answer.refused = code
			}
		}
		if q.Has("iss") {
			issuer := q.Get("iss")
			answer.issuer = &issuer
		}
		c.came <- answer
	})
	switch {
	case !first:
		say(http.StatusConflict, "Somebody has been here already.")
	case q.Get("error") != "":
		say(http.StatusOK, "Nobody was signed in. You can close this page.")
	default:
		say(http.StatusOK, "Thank you. You can close this page and go back to the terminal.")
	}
}

// SignInTo signs a person in to an existing connection, with the client's parts of its credential,
// and returns the new credential, sealed for the next version. Provider and Client of s are those
// of the connection. Without Scopes it asks for the scopes of the connection, or else of its
// provider.
func (b *Broker) SignInTo(ctx context.Context, r Record, s SignIn) (Sealed, SignedIn, error) {
	c, err := b.unseal(r.Sealed)
	if err != nil {
		return Sealed{}, SignedIn{}, ErrSealed
	}
	defer c.Destroy()
	s.Provider = r.Provider
	// The old tokens are left out, because another person may sign in now.
	s.Client = NewCredential(map[string]Secret{FieldClientID: c.Get(FieldClientID), FieldClientSecret: c.Get(FieldClientSecret)})
	if len(s.Scopes) == 0 {
		s.Scopes = r.Scopes
	}
	if len(s.Scopes) == 0 && r.Provider.OAuth2 != nil {
		s.Scopes = r.Provider.OAuth2.Scopes
	}
	got, err := b.SignIn(ctx, s)
	if err != nil {
		return Sealed{}, SignedIn{}, err
	}
	defer got.Credential.Destroy()
	at := r.Sealed.Binding
	at.Version++
	sealed, err := b.Seal(got.Credential, at, time.Time{})
	got.Credential = Credential{}
	return sealed, got, err
}
