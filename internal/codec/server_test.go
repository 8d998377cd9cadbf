package codec

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	bearer = "a-token-for-the-ui"
	page   = "https://temporal.example.com"
)

func TestServer(t *testing.T) {
	t.Parallel()
	c := New(ring(t, line("k1")), Options{})
	server := httptest.NewServer(Server(c, ServerOptions{Tokens: [][]byte{[]byte("another"), []byte(bearer)}, Origins: []string{page}}))
	t.Cleanup(server.Close)
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: server.URL, ModifyRequest: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+bearer)
		r.Header.Set("X-Namespace", "default")
		r.Header.Set("Origin", page)
		return nil
	}})
	plain := payload(t, "a value")
	gone := encoded(t, of(New(ring(t, line("gone")), Options{}), "acme"), plain)
	both := []*common.Payload{encoded(t, of(c, "acme"), plain), gone, encoded(t, of(c, "globex"), plain), plain}
	opened, err := remote.Decode(both)
	if err != nil || len(opened) != 4 || !proto.Equal(opened[0], plain) || !proto.Equal(opened[1], gone) || !proto.Equal(opened[2], plain) || !proto.Equal(opened[3], plain) {
		t.Errorf("opened %v, %v", opened, err)
	}
	sealed, err := remote.Encode([]*common.Payload{plain})
	if err != nil || encodingOf(sealed[0]) != Encoding {
		t.Fatalf("sealed %v, %v", sealed, err)
	}
	if err := opens(of(c, "acme"), sealed[0], plain); err != nil {
		t.Error(err)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	c := New(ring(t, line("k1")), Options{})
	handler := Server(c, ServerOptions{Tokens: [][]byte{[]byte(bearer)}, Origins: []string{page}})
	send := func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	const authorized = "Bearer " + bearer
	for name, tc := range map[string]struct {
		got  *httptest.ResponseRecorder
		want int
	}{
		"good":           {send(http.MethodPost, "/decode", `{"payloads":[]}`, "Authorization", authorized), 200},
		"with a path":    {send(http.MethodPost, "/codec/decode", `{"payloads":[]}`, "Authorization", authorized), 200},
		"lower case":     {send(http.MethodPost, "/decode", `{}`, "Authorization", "bearer "+bearer), 200},
		"no token":       {send(http.MethodPost, "/decode", `{}`), 401},
		"empty token":    {send(http.MethodPost, "/decode", `{}`, "Authorization", "Bearer "), 401},
		"wrong token":    {send(http.MethodPost, "/decode", `{}`, "Authorization", authorized+"x"), 401},
		"a part of it":   {send(http.MethodPost, "/decode", `{}`, "Authorization", authorized[:len(authorized)-1]), 401},
		"basic":          {send(http.MethodPost, "/decode", `{}`, "Authorization", "Basic "+bearer), 401},
		"in the query":   {send(http.MethodPost, "/decode?token="+bearer, `{}`), 401},
		"another page":   {send(http.MethodPost, "/decode", `{}`, "Authorization", authorized, "Origin", "https://evil.example.com"), 403},
		"a page like it": {send(http.MethodPost, "/decode", `{}`, "Authorization", authorized, "Origin", page+".evil.com"), 403},
		"no page":        {send(http.MethodOptions, "/decode", "", "Origin", "null"), 403},
		"asks first":     {send(http.MethodOptions, "/decode", "", "Origin", page, "Access-Control-Request-Method", "POST"), 204},
		"get":            {send(http.MethodGet, "/decode", "", "Authorization", authorized), 405},
		"no such path":   {send(http.MethodPost, "/keys", `{}`, "Authorization", authorized), 404},
		"no JSON":        {send(http.MethodPost, "/decode", `x`, "Authorization", authorized), 400},
		"too large":      {send(http.MethodPost, "/decode", strings.Repeat(" ", MaxBody)+`{}`, "Authorization", authorized), 400},
		"nobody has a key": {func() *httptest.ResponseRecorder {
			handler = Server(c, ServerOptions{})
			return send(http.MethodPost, "/decode", `{}`, "Authorization", "Bearer ")
		}(), 401},
	} {
		if tc.got.Code != tc.want {
			t.Errorf("%s: status %d, want %d: %s", name, tc.got.Code, tc.want, tc.got.Body)
		}
		if strings.Contains(tc.got.Body.String(), bearer) || tc.got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v %s", name, tc.got.Header(), tc.got.Body)
		}
		allowed := tc.got.Header().Get("Access-Control-Allow-Origin")
		if want := map[bool]string{true: page}[name == "asks first"]; allowed != want {
			t.Errorf("%s: lets %q in", name, allowed)
		}
	}
}

func TestServerSaysWhoMayAsk(t *testing.T) {
	t.Parallel()
	handler := Server(New(nil, Options{}), ServerOptions{Origins: []string{page}})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/decode", bytes.NewReader(nil))
	r.Header.Set("Origin", page)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	h := w.Header()
	if h.Get("Access-Control-Allow-Origin") != page || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-Namespace") ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("it answers %v", h)
	}
}
