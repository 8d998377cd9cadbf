package broker

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// attach adds the credential to a request, which the caller must own. It overwrites the header or
// parameter if the request has it.
func (l *Lease) attach(req *http.Request) error {
	headers, err := l.headers()
	switch {
	case err == nil:
		for name, value := range headers {
			req.Header.Set(name, string(value.Reveal()))
			value.Destroy()
		}
		return nil
	case l.provider.Place != nil:
		query := req.URL.Query()
		query.Set(l.provider.Place.Query, string(l.provider.Place.fill(l.credential.Get(FieldKey).Reveal())))
		req.URL.RawQuery = query.Encode()
		return nil
	case l.provider.Kind == Signed:
		return l.sign(req)
	}
	return err
}

// headers returns the headers that authenticate a request, for the kinds that use only headers.
// The caller must destroy them.
func (l *Lease) headers() (map[string]Secret, error) {
	bearer := func(part string) (map[string]Secret, error) {
		token := l.credential.Get(part).Reveal()
		if len(token) == 0 {
			return nil, capability.ErrNoToken
		}
		return map[string]Secret{"Authorization": capability.NewSecret(append([]byte("Bearer "), token...))}, nil
	}
	switch p := l.provider; {
	case p.Kind == Bearer:
		return bearer(FieldToken)
	case p.Kind == OAuth:
		return bearer(FieldAccessToken)
	case p.Kind == Basic:
		pair := bytes.Join([][]byte{l.credential.Get(FieldUsername).Reveal(), l.credential.Get(FieldPassword).Reveal()}, []byte(":"))
		defer clear(pair)
		return map[string]Secret{"Authorization": capability.NewSecret(base64.StdEncoding.AppendEncode([]byte("Basic "), pair))}, nil
	case p.Kind == APIKey && p.Place.Header != "":
		return map[string]Secret{p.Place.Header: capability.NewSecret(p.Place.fill(l.credential.Get(FieldKey).Reveal()))}, nil
	}
	return nil, capability.ErrNoToken
}

// fill returns the template with the key in place of {key}.
func (p Place) fill(key []byte) []byte {
	before, after, found := strings.Cut(p.Template, "{key}")
	if !found {
		return bytes.Clone(key)
	}
	return append(append([]byte(before), key...), after...)
}

func (l *Lease) sign(req *http.Request) error {
	signer, ok := l.signers[l.provider.Signer]
	if !ok {
		return fmt.Errorf("this worker has no signer %q", l.provider.Signer)
	}
	var body []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxSigned+1))
		if closed := req.Body.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return errors.New("the body could not be read")
		}
		if len(body) > maxSigned {
			return fmt.Errorf("the body of a signed request has at most %d bytes", maxSigned)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	if err := signer.Sign(req, body, func(name string) []byte { return l.credential.Get(name).Reveal() }, time.Now()); err != nil {
		return errors.New("the request could not be signed") // the error of a signer may contain secrets
	}
	return nil
}
