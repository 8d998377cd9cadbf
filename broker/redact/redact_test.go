package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// held is a secret by type alone: no fingerprint knows what it holds.
type held struct{ text []byte }

func (*held) Redacted() {}

// text is a secret of a basic kind.
type text string

func (text) Redacted() {}

// valuer is a secret that lets slog ask it.
type valuer struct{ text string }

func (valuer) Redacted()              {}
func (v valuer) LogValue() slog.Value { return slog.StringValue(v.text) }

// lazy makes its value when it is logged.
type lazy string

func (l lazy) LogValue() slog.Value { return slog.GroupValue(slog.String("at", string(l))) }

type stringer struct{ text string }

func (s *stringer) String() string { return "a stringer of " + s.text }

type request struct {
	Name   string
	secret string
	inner  *request
}

func live(t *testing.T) *fingerprint.Set {
	t.Helper()
	s := &fingerprint.Set{}
	if err := s.Add("token", []byte(token)); err != nil {
		t.Fatal(err)
	}
	return s
}

// logged is what handlers of both kinds write of a record.
func logged(secrets *fingerprint.Set, log func(*slog.Logger)) string {
	var out bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	log(slog.New(Handler(slog.NewTextHandler(&out, options), secrets)))
	log(slog.New(Handler(slog.NewJSONHandler(&out, options), secrets)))
	return out.String()
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	const byType = "known-by-type-alone"
	secrets := live(t)
	ctx := t.Context()
	for name, log := range map[string]func(*slog.Logger){
		"message": func(l *slog.Logger) { l.InfoContext(ctx, "calling with "+token) },
		"string":  func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", token) },
		"key":     func(l *slog.Logger) { l.InfoContext(ctx, "m", token, 1) },
		"base64": func(l *slog.Logger) {
			l.InfoContext(ctx, "m", "k", base64.StdEncoding.EncodeToString([]byte("x:"+token)))
		},
		"group":           func(l *slog.Logger) { l.InfoContext(ctx, "m", slog.Group("g", slog.Group("h", "k", token))) },
		"bound":           func(l *slog.Logger) { l.With("k", token).WithGroup("g").With("k2", "v").InfoContext(ctx, "m", "k3", 1) },
		"name of a group": func(l *slog.Logger) { l.WithGroup(token).InfoContext(ctx, "m", "k", 1) },
		"error":           func(l *slog.Logger) { l.InfoContext(ctx, "m", "err", fmt.Errorf("get: %w", errors.New(token))) },
		"bytes":           func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", []byte(token)) },
		"raw JSON":        func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", json.RawMessage(`["`+token+`"]`)) },
		"stringer":        func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", &stringer{token}) },
		"struct":          func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", request{Name: token}) },
		"hidden field":    func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", request{secret: token}) },
		"map":             func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", map[string][]string{"h": {"Bearer " + token}}) },
		"pieces":          func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", []string{token[:20], token[20:]}) },
		"lazy":            func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", lazy(token)) },
		"by type":         func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", &held{[]byte(byType)}) },
		"by value":        func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", held{[]byte(byType)}) },
		"in a struct":     func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", struct{ s any }{[]held{{[]byte(byType)}}}) },
		"in a list":       func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", []text{byType}) },
		"in a map":        func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", map[string]any{"s": &held{[]byte(byType)}}) },
		"valuer":          func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", valuer{byType}) },
		"in an error":     func(l *slog.Logger) { l.InfoContext(ctx, "m", "k", &failing{valuer{byType}}) },
	} {
		text := logged(secrets, log)
		if len(secrets.FindString(text)) > 0 || strings.Contains(text, byType) || strings.Contains(text, decimals(byType)) {
			t.Errorf("%s: %s", name, text)
		}
		if n := strings.Count(text, fingerprint.Redacted); n < 2 {
			t.Errorf("%s: redacted %d times: %s", name, n, text)
		}
		if !strings.Contains(text, "redact_test.go") {
			t.Errorf("%s: the source is lost: %s", name, text)
		}
	}
}

// decimals is how fmt shows bytes.
func decimals(s string) string { return strings.Trim(fmt.Sprintf("%v", []byte(s)), "[]") }

// failing is an error that has a secret in hand.
type failing struct{ with valuer }

func (f *failing) Error() string { return "failed with " + f.with.text }

func TestTheRestIsLoggedAsItIs(t *testing.T) {
	t.Parallel()
	log := func(l *slog.Logger) {
		l.With("a", 1).WithGroup("g").With("b", true).WarnContext(t.Context(), "plain",
			"s", "text", "e", errors.New("broke"), "n", 7, "st", request{Name: "x", inner: &request{}}, slog.Group("h", "t", lazy("y")))
	}
	var want bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	log(slog.New(slog.NewJSONHandler(&want, options)))
	for _, secrets := range []*fingerprint.Set{nil, {}, live(t)} {
		var got bytes.Buffer
		log(slog.New(Handler(slog.NewJSONHandler(&got, options), secrets)))
		if got.String() != want.String() {
			t.Errorf("logged %s, want %s", &got, &want)
		}
	}
	if Handler(slog.NewTextHandler(&want, nil), nil).Enabled(t.Context(), slog.LevelDebug) {
		t.Error("it is enabled where the handler behind is not")
	}
}

// TestSecretsComeAlive: what was bound before is looked at again.
func TestSecretsComeAlive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	secrets := &fingerprint.Set{}
	log := slog.New(Handler(slog.NewTextHandler(&out, nil), secrets)).With("url", "https://x/?t="+token)
	if err := secrets.Add("token", []byte(token)); err != nil {
		t.Fatal(err)
	}
	log.InfoContext(t.Context(), "m")
	if len(secrets.FindString(out.String())) > 0 {
		t.Errorf("logged %s", &out)
	}
}

type coded struct {
	code int
	text string
}

func (c *coded) Error() string { return fmt.Sprintf("%d: %s", c.code, c.text) }

// TestErrors: an error of net/http names the URL, and a credential may stand in it (fault 50).
func TestErrors(t *testing.T) {
	t.Parallel()
	secrets := live(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/?key="+url.QueryEscape(token), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, refused := (&http.Client{}).Do(request)
	if refused == nil {
		_ = answer.Body.Close()
		t.Fatal("somebody answers")
	}
	if len(secrets.FindString(refused.Error())) == 0 {
		t.Fatalf("the error has no secret in it: %v", refused)
	}
	for name, err := range map[string]error{
		"http": refused, "wrapped": fmt.Errorf("fetch: %w", refused), "joined": errors.Join(errors.New("first"), refused),
		"coded": &coded{7, "Bearer " + token}, "by type": fmt.Errorf("with: %w", &failing{valuer{"known"}}),
		"hidden": &hiding{cause: token},
	} {
		safe := Error(err, secrets)
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(format, safe)
			if len(secrets.FindString(text)) > 0 || strings.Contains(text, "known") {
				t.Errorf("%s as %s: %s", name, format, text)
			}
		}
		if errors.Unwrap(safe) != nil {
			t.Errorf("%s: the chain can be walked", name)
		}
		if !errors.Is(safe, err) {
			t.Errorf("%s: it is not what it was", name)
		}
	}
	var c *coded
	if safe := Error(fmt.Errorf("x: %w", &coded{7, token}), secrets); !errors.As(safe, &c) || c.code != 7 || safe.Error() != "x: 7: [redacted]" {
		t.Errorf("got %v, %v", safe, c)
	}
	plain := errors.New("nothing to hide")
	if Error(plain, secrets) != plain || Error(plain, nil) != plain || Error(nil, secrets) != nil {
		t.Error("what has nothing to hide was changed")
	}
}

// hiding says nothing of what it has.
type hiding struct{ cause string }

func (*hiding) Error() string { return "failed" }
