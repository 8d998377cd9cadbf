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
	mediaType  = "application/json"
	// maxLife bounds the time in which a worker accepts a request. A request that is late beyond its attempt must not run.
	maxLife = time.Minute
)

var (
	requestParts = []string{"@method", "@path", "content-type", "content-digest"}
	// answerParts are the parts of an answer that a signature must cover, each once. The last is the signature of the request.
	answerParts = []string{`"@status"`, `"content-type"`, `"content-digest"`, `"signature";req;key="pawl"`}
)

var errSignature = errors.New("the answer is not signed with the key of the worker")

// sign adds the digest of the body and the signature to a request. It returns the signature.
func sign(header http.Header, target *url.URL, body []byte, keyID string, secret []byte, now time.Time, life time.Duration) ([]byte, error) {
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
	p.Add("expires", now.Add(min(max(life, time.Second), maxLife)).Unix())
	p.Add("nonce", rand.Text())
	p.Add("keyid", keyID)
	p.Add("alg", algorithm)
	p.Add("tag", requestTag)
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

// verify checks that the key has signed the answer together with the signature of the request.
func verify(status int, header http.Header, body []byte, keyID string, secret, requestSignature []byte) error {
	if !hasDigest(header, body) {
		return errSignature
	}
	inputs, err := httpsfv.UnmarshalDictionary(header.Values("Signature-Input"))
	if err != nil {
		return errSignature
	}
	signatures, err := httpsfv.UnmarshalDictionary(header.Values("Signature"))
	if err != nil {
		return errSignature
	}
	input, _ := inputs.Get(label)
	covered, ok := input.(httpsfv.InnerList)
	if !ok || !hasParams(covered.Params, keyID) {
		return errSignature
	}
	given, ok := bytesMember(signatures, label)
	if !ok {
		return errSignature
	}
	encoded, err := bytesItem(requestSignature)
	if err != nil {
		return err
	}
	var seen []string
	base, _, err := signatureBase(covered, func(item string) (string, error) {
		seen = append(seen, item)
		switch item {
		case `"@status"`:
			return strconv.Itoa(status), nil
		case `"content-type"`, `"content-digest"`:
			return fieldOf(header, strings.Trim(item, `"`))
		case answerParts[3]:
			return encoded, nil
		}
		return "", errSignature
	})
	slices.Sort(seen)
	want := slices.Sorted(slices.Values(answerParts))
	if err != nil || !slices.Equal(seen, want) || !hmac.Equal(given, mac(secret, base)) {
		return errSignature
	}
	return nil
}

// hasParams reports whether the parameters of the signature of an answer are those of the profile.
func hasParams(p *httpsfv.Params, keyID string) bool {
	is := func(name, want string, required bool) bool {
		value, there := p.Get(name)
		return value == want || !there && !required
	}
	return is("keyid", keyID, true) && is("tag", answerTag, true) && is("alg", algorithm, false)
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
