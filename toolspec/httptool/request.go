package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// maxURL bounds the path and the query of a request, in bytes.
const maxURL = 16 << 10

var (
	errHeader = errors.New("holds a line break or another control character, which a header cannot")
	errBody   = errors.New("must be an object, because the body is a form")
	errText   = errors.New("must be a text, because the body is a text")
)

// argError is the safe error of an argument that cannot be written in its place of the request.
func argError(name string, err error) error {
	return toolspec.Safef("argument %q %s", name, err.Error())
}

// newRequest makes the request of a call. base is the scheme and host. The path and the query of the
// request are those of the document, with the texts of the arguments.
func (t *compiled) newRequest(ctx context.Context, base *url.URL, args json.RawMessage, key string) (*http.Request, error) {
	all, err := readValue(args)
	if err != nil || all.kind != isObject {
		return nil, toolspec.Safef("the arguments are no JSON object")
	}
	given := map[string]value{}
	for _, m := range all.members {
		given[m.name] = m.value
	}
	path, err := t.path.fill(func(name string) (string, error) { return t.pathText(name, given) })
	if err != nil {
		return nil, toolspec.Safef("%s", err.Error())
	}
	out := &parts{header: http.Header{}}
	for _, p := range t.doc.Request.Parameters {
		if p.In == InPath {
			continue
		}
		v, there := given[p.arg()]
		if p.Value != nil {
			v, there = value{kind: isScalar, text: *p.Value}, true
		}
		if !there || v.isNothing() {
			continue
		}
		if err := out.add(p, v); err != nil {
			return nil, argError(p.arg(), err)
		}
	}
	query := strings.Join(out.query, "&")
	if len(path)+len(query) > maxURL {
		return nil, toolspec.Safef("the path and the query have more than %d bytes", maxURL)
	}
	target, err := targetOf(base, path, query)
	if err != nil {
		return nil, err
	}
	body, err := t.body(given, out.header)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, t.doc.Request.Method, target.String(), body)
	if err != nil {
		return nil, toolspec.Safef("the request cannot be made")
	}
	// target was checked. String and the parser of NewRequest can change the form of its path.
	req.URL = target
	if len(out.cookies) > 0 {
		out.header.Set("Cookie", strings.Join(out.cookies, "; "))
	}
	if t.doc.Request.IdempotencyKey != "" {
		out.header.Set(t.doc.Request.IdempotencyKey, key)
	}
	req.Header = out.header
	if !t.repeatable {
		sendOnce(req)
	}
	return req, nil
}

// sendOnce keeps net/http from sending a request again after a kept connection breaks. net/http repeats a GET, HEAD or OPTIONS
// without a body, and a request with the header Idempotency-Key or X-Idempotency-Key. So sendOnce sets a body, which HTTP/2
// does not send again once it is written, and writes the names of the headers in lower case, in which net/http does not
// recognise them.
func sendOnce(req *http.Request) {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		req.Body = io.NopCloser(strings.NewReader("")) // over HTTP/1 net/http finds that it is empty, and sends none; over HTTP/2 it sends an empty frame
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := req.Header[name]; ok {
			delete(req.Header, name)
			req.Header[strings.ToLower(name)] = values
		}
	}
}

// targetOf returns the URL of an encoded path and query at a host. It has the scheme and host of base.
func targetOf(base *url.URL, path, query string) (*url.URL, error) {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return nil, toolspec.Safef("the path is malformed")
	}
	return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: decoded, RawPath: path, RawQuery: query}, nil
}

// pathText writes the argument of a path parameter.
func (t *compiled) pathText(name string, given map[string]value) (string, error) {
	p := t.pathParameter(name)
	v := given[p.arg()]
	if p.Value != nil {
		v = value{kind: isScalar, text: *p.Value}
	}
	fail := func(err error) (string, error) { return "", argError(p.arg(), err) }
	if v.isNothing() {
		return fail(errEmptySegment)
	}
	for _, text := range v.texts() {
		if text == "" {
			return fail(errEmptySegment)
		}
		if err := checkPathText(text, p.EncodedSlash); err != nil {
			return fail(err)
		}
	}
	text, err := segmentOf(p.style(), p.explode(), p.Name, v, strict)
	if err != nil {
		return fail(err)
	}
	return text, nil
}

// texts returns the scalars of a value and the names of its members.
func (v value) texts() []string {
	if v.kind == isScalar {
		return []string{v.text}
	}
	var all []string
	for _, m := range v.defined() {
		if v.kind == isObject {
			all = append(all, m.name)
		}
		all = append(all, m.texts()...)
	}
	return all
}

// parts are the parts of a request beside its path and body.
type parts struct {
	query, cookies []string
	header         http.Header
}

// add adds a parameter.
func (r *parts) add(p Parameter, v value) error {
	if p.style() == JSONStyle {
		v = value{kind: isScalar, text: v.json()}
	}
	switch p.In {
	case InQuery:
		esc := strict
		if p.AllowReserved {
			esc = reserved
		}
		pairs, err := pairsOf(p.style(), p.explode(), p.Name, v, esc)
		r.query = append(r.query, pairs...)
		return err
	case InCookie:
		pairs, err := pairsOf(Form, false, p.Name, v, strict)
		r.cookies = append(r.cookies, pairs...)
		return err
	case InHeader:
		text, err := segmentOf(Simple, p.explode(), p.Name, v, plain)
		if err != nil {
			return err
		}
		if !isFieldValue(text) {
			return errHeader
		}
		r.header.Set(p.Name, text)
	default:
	}
	return nil
}

// isFieldValue reports whether a text can be the value of a header (RFC 9110), without spaces at its ends.
func isFieldValue(text string) bool {
	return strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// json writes a value as JSON.
func (v value) json() string {
	var b strings.Builder
	v.writeJSON(&b)
	return b.String()
}

func (v value) writeJSON(b *strings.Builder) {
	switch v.kind {
	case isNull:
		b.WriteString("null")
	case isScalar:
		if v.quoted {
			b.WriteString(quote(v.text))
			return
		}
		b.WriteString(v.text)
	case isArray, isObject:
		brackets := "[]"
		if v.kind == isObject {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		for i, m := range v.members {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.kind == isObject {
				b.WriteString(quote(m.name) + ":")
			}
			m.writeJSON(b)
		}
		b.WriteByte(brackets[1])
	}
}

// quote writes a text as a JSON string.
func quote(text string) string {
	encoded, err := strictjson.Encode(text)
	if err != nil {
		return `""` // never: every text can be written
	}
	return string(encoded)
}

// body returns the body of the request, and sets its Content-Type. Without the argument of the body,
// the request has no body.
func (t *compiled) body(given map[string]value, header http.Header) (io.Reader, error) {
	b := t.doc.Request.Body
	if b == nil {
		return http.NoBody, nil
	}
	v, there := given[b.Arg]
	if !there {
		return http.NoBody, nil
	}
	header.Set("Content-Type", b.mediaType())
	switch b.Type {
	case BodyForm:
		text, err := b.form(v)
		if err != nil {
			return nil, argError(b.Arg, err)
		}
		return strings.NewReader(text), nil
	case BodyText:
		if v.kind != isScalar {
			return nil, argError(b.Arg, errText)
		}
		return strings.NewReader(v.text), nil
	default:
		return strings.NewReader(v.json()), nil
	}
}

// form writes an object as application/x-www-form-urlencoded.
func (b *Body) form(v value) (string, error) {
	if v.kind != isObject {
		return "", errBody
	}
	var all []string
	for _, m := range v.defined() {
		style, explode := b.styleOf(m.name)
		pairs, err := pairsOf(style, explode, m.name, m.value, strict)
		if err != nil {
			return "", fmt.Errorf("has a field that %w", err)
		}
		all = append(all, pairs...)
	}
	return strings.Join(all, "&"), nil
}

func (b *Body) styleOf(name string) (Style, bool) {
	for _, f := range b.Fields {
		if f.Name == name {
			return f.Style, Parameter{In: InQuery, Style: f.Style, Explode: f.Explode}.explode()
		}
	}
	return Form, true
}

func (b *Body) mediaType() string {
	switch {
	case b.MediaType != "":
		return b.MediaType
	case b.Type == BodyForm:
		return "application/x-www-form-urlencoded"
	case b.Type == BodyText:
		return mime.FormatMediaType("text/plain", map[string]string{"charset": "utf-8"})
	}
	return "application/json"
}
