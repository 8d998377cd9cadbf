package remote

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// The profile of RFC 9421 that requests and answers have. docs/remote-tools.md is its reference.
const (
	label      = "pawl"
	algorithm  = "hmac-sha256"
	requestTag = "pawl-request"
	answerTag  = "pawl-answer"
	redeemTag  = "pawl-redeem"
	mediaType  = "application/json"
	// maxLife bounds the time in which a worker accepts a request. A request that arrives after the end of its attempt must not run.
	maxLife = time.Minute
	// maxAhead is how far the clock of a worker that redeems a lease may be ahead. A lease can be redeemed only once, even if clocks differ.
	maxAhead = 30 * time.Second
	// maxSkew is how far the clocks of Pawl and of a worker may differ. A request is valid for this time beyond its attempt, so that a worker
	// whose clock is ahead does not refuse it. The clock of the worker may also be behind by this time, so a delayed request can run until twice
	// this time and a second after its attempt: less than the time that Pawl waits before it believes a probe.
	maxSkew = 2 * time.Second
)

var (
	requestParts = []string{"@method", "@path", "content-type", "content-digest"}
	// answerParts are the parts of an answer that a signature must cover, each once. The last is the signature of the request.
	answerParts = []string{`"@status"`, `"content-type"`, `"content-digest"`, `"signature";req;key="pawl"`}
)

var errSignature = errors.New("the answer is not signed with the key of the worker")

// sign adds the digest of the body and the signature to a request. It returns the signature.
func sign(header http.Header, target *url.URL, body []byte, keyID string, secret []byte, now time.Time, life time.Duration) ([]byte, error) {
	return signAs(header, requestTag, target, body, keyID, secret, now, life)
}

// signAs is sign with a tag.
func signAs(header http.Header, tag string, target *url.URL, body []byte, keyID string, secret []byte, now time.Time, life time.Duration) ([]byte, error) {
	header.Set("Content-Type", mediaType)
	digest, err := digestOf(body)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Digest", digest)
	covered := httpsfv.InnerList{Params: httpsfv.NewParams()}
	for _, name := range requestParts {
		covered.Items = append(covered.Items, httpsfv.NewItem(name))
	}
	p := covered.Params
	p.Add("created", now.Unix())
	p.Add("expires", now.Add(min(life+maxSkew+time.Second, maxLife)).Unix())
	p.Add("nonce", rand.Text())
	p.Add("keyid", keyID)
	p.Add("alg", algorithm)
	p.Add("tag", tag)
	base, params, err := signatureBase(covered, func(item string) (string, error) {
		switch item {
		case `"@method"`:
			return http.MethodPost, nil
		case `"@path"`:
			return pathOf(target), nil
		case `"content-type"`:
			return mediaType, nil
		default:
			return digest, nil
		}
	})
	if err != nil {
		return nil, err
	}
	signature := mac(secret, base)
	encoded, err := bytesField(label, signature)
	if err != nil {
		return nil, err
	}
	header.Set("Signature-Input", label+"="+params)
	header.Set("Signature", encoded)
	return signature, nil
}

func pathOf(target *url.URL) string {
	if path := target.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// signed is what a valid signature says.
type signed struct {
	keyID     string
	secret    []byte
	params    *httpsfv.Params
	signature []byte
}

// verify checks a message: its digest, and that its signature has exactly the wanted parts, this tag and a key that secretOf knows.
// value returns the value of a part that is no header field.
func verify(header http.Header, body []byte, tag string, want []string, secretOf func(keyID string) []byte, value func(item string) string) (signed, error) {
	if !hasDigest(header, body) {
		return signed{}, errSignature
	}
	inputs, err := httpsfv.UnmarshalDictionary(header.Values("Signature-Input"))
	if err != nil {
		return signed{}, errSignature
	}
	signatures, err := httpsfv.UnmarshalDictionary(header.Values("Signature"))
	if err != nil {
		return signed{}, errSignature
	}
	input, _ := inputs.Get(label)
	covered, ok := input.(httpsfv.InnerList)
	if !ok {
		return signed{}, errSignature
	}
	s := signed{params: covered.Params}
	s.keyID, s.secret = keyOf(covered.Params, tag, secretOf)
	if s.signature, ok = bytesMember(signatures, label); !ok || s.secret == nil {
		return signed{}, errSignature
	}
	var seen []string
	base, _, err := signatureBase(covered, func(item string) (string, error) {
		seen = append(seen, item)
		if item == `"content-type"` || item == `"content-digest"` {
			return fieldOf(header, strings.Trim(item, `"`))
		}
		return value(item), nil
	})
	slices.Sort(seen)
	if err != nil || !slices.Equal(seen, slices.Sorted(slices.Values(want))) || !hmac.Equal(s.signature, mac(s.secret, base)) {
		return signed{}, errSignature
	}
	return s, nil
}

// keyOf returns the key that the parameters of a signature name. The secret is nil if they are not those of the profile.
func keyOf(p *httpsfv.Params, tag string, secretOf func(keyID string) []byte) (keyID string, secret []byte) {
	given, _ := p.Get("keyid")
	keyID, _ = given.(string)
	hasTag, _ := p.Get("tag")
	alg, hasAlg := p.Get("alg")
	if hasTag != tag || hasAlg && alg != algorithm {
		return keyID, nil
	}
	return keyID, secretOf(keyID)
}

// verifyAnswer checks that the key has signed the answer together with the signature of the request.
func verifyAnswer(status int, header http.Header, body []byte, keyID string, secret, requestSignature []byte) error {
	encoded, err := bytesItem(requestSignature)
	if err != nil {
		return err
	}
	_, err = verify(header, body, answerTag, answerParts, func(id string) []byte {
		if id == keyID {
			return secret
		}
		return nil
	}, func(item string) string {
		return map[string]string{`"@status"`: strconv.Itoa(status), answerParts[3]: encoded}[item]
	})
	return err
}

// verifyRequest checks that a key has signed the request for this time.
func (k Keys) verifyRequest(r *http.Request, body []byte, tag string, now time.Time) (signed, error) {
	var want []string
	for _, name := range requestParts {
		want = append(want, strconv.Quote(name))
	}
	s, err := verify(r.Header, body, tag, want, func(id string) []byte { return k.byID[id].secret }, func(item string) string {
		return map[string]string{`"@method"`: r.Method, `"@path"`: pathOf(r.URL)}[item]
	})
	if err != nil {
		return signed{}, err
	}
	created, _ := s.params.Get("created")
	expires, _ := s.params.Get("expires")
	from, isFrom := created.(int64)
	until, isUntil := expires.(int64)
	if !isFrom || !isUntil || until < now.Unix() || from > now.Add(maxAhead).Unix() || until-from > int64(maxLife/time.Second) {
		return signed{}, errSignature
	}
	return s, nil
}

// signAnswer adds the digest of the body and the signature to an answer with the status 200.
func signAnswer(header http.Header, body []byte, to signed, now time.Time) error {
	digest, err := digestOf(body)
	if err != nil {
		return err
	}
	encoded, err := bytesItem(to.signature)
	if err != nil {
		return err
	}
	ofRequest := httpsfv.NewItem("signature")
	ofRequest.Params.Add("req", true)
	ofRequest.Params.Add("key", label)
	covered := httpsfv.InnerList{Params: httpsfv.NewParams(), Items: []httpsfv.Item{
		httpsfv.NewItem("@status"), httpsfv.NewItem("content-type"), httpsfv.NewItem("content-digest"), ofRequest,
	}}
	covered.Params.Add("created", now.Unix())
	covered.Params.Add("keyid", to.keyID)
	covered.Params.Add("alg", algorithm)
	covered.Params.Add("tag", answerTag)
	base, params, err := signatureBase(covered, func(item string) (string, error) {
		return map[string]string{`"@status"`: "200", `"content-type"`: mediaType, `"content-digest"`: digest, answerParts[3]: encoded}[item], nil
	})
	if err != nil {
		return err
	}
	signature, err := bytesField(label, mac(to.secret, base))
	if err != nil {
		return err
	}
	header.Set("Content-Type", mediaType)
	header.Set("Content-Digest", digest)
	header.Set("Signature-Input", label+"="+params)
	header.Set("Signature", signature)
	return nil
}

// signatureBase returns the signature base of RFC 9421, section 2.5, and the parameters as they are in Signature-Input. value
// returns the value of a component by its identifier.
func signatureBase(covered httpsfv.InnerList, value func(item string) (string, error)) (base []byte, params string, err error) {
	var b bytes.Buffer
	for _, item := range covered.Items {
		if _, isName := item.Value.(string); !isName {
			return nil, "", errSignature
		}
		name, err := httpsfv.Marshal(item)
		if err != nil {
			return nil, "", errSignature
		}
		text, err := value(name)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(&b, "%s: %s\n", name, text)
	}
	if params, err = httpsfv.Marshal(httpsfv.List{covered}); err != nil {
		return nil, "", errSignature
	}
	fmt.Fprintf(&b, "%q: %s", "@signature-params", params)
	return b.Bytes(), params, nil
}

// fieldOf returns the value of a header field that is there once.
func fieldOf(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", errSignature
	}
	return strings.TrimSpace(values[0]), nil
}

// digestOf returns the Content-Digest (RFC 9530) of a body.
func digestOf(body []byte) (string, error) {
	sum := sha256.Sum256(body)
	return bytesField("sha-256", sum[:])
}

// hasDigest reports whether Content-Digest has the SHA-256 of the body.
func hasDigest(header http.Header, body []byte) bool {
	digests, err := httpsfv.UnmarshalDictionary(header.Values("Content-Digest"))
	if err != nil {
		return false
	}
	given, ok := bytesMember(digests, "sha-256")
	sum := sha256.Sum256(body)
	return ok && bytes.Equal(given, sum[:])
}

func bytesMember(d *httpsfv.Dictionary, name string) ([]byte, bool) {
	member, _ := d.Get(name)
	item, ok := member.(httpsfv.Item)
	if !ok {
		return nil, false
	}
	value, ok := item.Value.([]byte)
	return value, ok
}

func bytesItem(value []byte) (string, error) { return httpsfv.Marshal(httpsfv.NewItem(value)) }

func bytesField(name string, value []byte) (string, error) {
	text, err := bytesItem(value)
	return name + "=" + text, err
}

func mac(secret, text []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(text)
	return h.Sum(nil)
}
