package codec

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// MaxBody bounds a request to the codec server, in bytes: the UI sends a page of a
// history at once.
const MaxBody = 32 << 20

// ServerOptions say who may use a codec server.
type ServerOptions struct {
	// Tokens are the bearer tokens that give access; without any, every request is refused.
	Tokens [][]byte
	// Origins are the pages that may use it from a browser, such as
	// https://temporal.example.com. A request of another page is refused.
	Origins []string
}

// Server answers POST …/encode and …/decode by Temporal's protocol of remote
// codecs, for requests with a token. It logs nothing. It returns a payload that
// does not open unchanged, so that people can read the other payloads of the page.
func Server(c *Codec, o ServerOptions) http.Handler {
	digests := make([][sha256.Size]byte, len(o.Tokens))
	for i, token := range o.Tokens {
		digests[i] = sha256.Sum256(token)
	}
	return &server{codec: converter.NewPayloadCodecHTTPHandler(lenient{c}), tokens: digests, origins: o.Origins}
}

type server struct {
	codec   http.Handler
	tokens  [][sha256.Size]byte
	origins []string
}

// ServeHTTP checks origin and token before anything is read.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" {
		if !slices.Contains(s.origins, origin) {
			http.Error(w, "this page may not use the codec server", http.StatusForbidden)
			return
		}
		header.Set("Access-Control-Allow-Origin", origin)
	}
	switch r.Method {
	case http.MethodOptions: // the browser asks first, and sends no token with it
		header.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
		header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodPost:
	default:
		header.Set("Allow", "POST, OPTIONS")
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	if !s.knows(r.Header.Get("Authorization")) {
		header.Set("WWW-Authenticate", `Bearer realm="pawl codec server"`)
		http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	s.codec.ServeHTTP(w, r)
}

// knows compares the digests of all tokens in constant time, so that the time of an answer reveals
// nothing about a token.
func (s *server) knows(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	digest, known := sha256.Sum256([]byte(strings.TrimSpace(token))), 0
	for _, d := range s.tokens {
		known |= subtle.ConstantTimeCompare(digest[:], d[:])
	}
	return known == 1 && strings.EqualFold(scheme, "Bearer")
}

// lenient returns a payload that does not open unchanged.
type lenient struct{ *Codec }

// Decode opens the payloads that it can.
func (l lenient) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	opened := slices.Clone(payloads)
	for i, p := range payloads {
		if one, err := l.open(p); err == nil {
			opened[i] = one
		}
	}
	return opened, nil
}
