package httptool

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

var (
	methods    = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
	fieldName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
	ownHeaders = []string{
		"authorization", "proxy-authorization", "cookie", "host", "content-type", "content-length", "transfer-encoding", "accept-encoding",
		"connection", "keep-alive", "te", "trailer", "upgrade", "expect",
	}
)

// Check returns the first rule that a description breaks, with the path of the key. The rules of
// definitions and schemas are checked when the tool is registered.
func (t Tool) Check() error {
	switch {
	case t.Connection != Required && t.Connection != None:
		return errors.New("connection must be required or none")
	case t.Connection == None && t.Host == "":
		return errors.New("host is missing: a tool without a connection needs a host")
	case t.Connection == None && len(t.Scopes) > 0:
		return errors.New("scopes go with connection: required only")
	case !slices.Contains([]ResponseType{ResponseJSON, ResponseText, ResponseBytes}, t.Response.Type):
		return errors.New("response.type must be json, text or bytes")
	case len(t.Input) == 0:
		return errors.New("input is missing: the JSON Schema of the arguments")
	}
	if t.Host != "" {
		if err := checkHost(t.Host); err != nil {
			return fmt.Errorf("host %w", err)
		}
	}
	if err := t.Request.check(); err != nil {
		return fmt.Errorf("request.%w", err)
	}
	if err := t.checkArgs(); err != nil {
		return err
	}
	if err := t.Response.check(); err != nil {
		return fmt.Errorf("response.%w", err)
	}
	if t.Request.Method == http.MethodHead && !t.Response.Empty {
		return errors.New("response.empty must be true: a response to HEAD has no body")
	}
	return nil
}

// checkHost refuses what is not host or host:port in the form that weburl has.
func checkHost(host string) error {
	u, err := weburl.Parse("https://" + host + "/")
	if err != nil || u.Host != host || u.Path != "/" || u.RawQuery != "" {
		return errors.New("must be a host in lower case, or host:port, without https:// and without a path")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !addr.IsLoopback() && !addr.IsGlobalUnicast() {
		return errors.New("is not an address of a host")
	}
	return nil
}

func (r Request) check() error {
	if !slices.Contains(methods, r.Method) {
		return fmt.Errorf("method must be one of %s", strings.Join(methods, ", "))
	}
	path, err := readTemplate(r.Path)
	if err != nil {
		return fmt.Errorf("path %w", err)
	}
	if len(r.Parameters) > MaxParameters {
		return fmt.Errorf("parameters has more than %d entries", MaxParameters)
	}
	seen := map[string]bool{}
	for i, p := range r.Parameters {
		if err := p.check(path); err != nil {
			return fmt.Errorf("parameters[%d].%w", i, err)
		}
		place := string(p.In) + " " + p.Name
		if p.In == InHeader {
			place = strings.ToLower(place)
		}
		if seen[place] {
			return fmt.Errorf("parameters[%d].name: the request has two parameters with this place and name", i)
		}
		seen[place] = true
	}
	if r.IdempotencyKey != "" && (!isOwn(r.IdempotencyKey) || seen[strings.ToLower("header "+r.IdempotencyKey)]) {
		return errors.New("idempotencyKey must be the name of a header that nothing else sets")
	}
	if r.Body != nil {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return fmt.Errorf("body: a request of %s has none", r.Method)
		}
		return r.Body.check()
	}
	return nil
}

// isOwn reports whether a document may set a header.
func isOwn(name string) bool {
	return fieldName.MatchString(name) && !slices.Contains(ownHeaders, strings.ToLower(name))
}

func (p Parameter) check(path template) error {
	switch {
	case p.In.styles() == nil:
		return errors.New("in must be path, query, header or cookie")
	case p.Name == "" || len(p.Name) > MaxName || strings.ContainsFunc(p.Name, unicode.IsControl):
		return fmt.Errorf("name must have 1 to %d characters", MaxName)
	case !p.In.Allows(p.style()):
		return fmt.Errorf("style %s is not for a parameter in the %s", p.Style, p.In)
	case p.In == InPath && !slices.Contains(path.names(), p.Name):
		return fmt.Errorf("name: the path has no {%s}", p.Name)
	case p.In == InHeader && !isOwn(p.Name):
		return fmt.Errorf("name: %s is not a header that a document may set", p.Name)
	case p.In == InCookie && !fieldName.MatchString(p.Name):
		return errors.New("name is no name of a cookie")
	case p.In == InCookie && p.explode():
		return errors.New("explode must be false in a cookie")
	case p.style() == DeepObject && !p.explode():
		return errors.New("explode must be true for the style deepObject")
	case (p.style() == SpaceDelimited || p.style() == PipeDelimited) && p.explode():
		return fmt.Errorf("explode must be false for the style %s", p.style())
	case p.AllowReserved && p.In != InQuery:
		return errors.New("allowReserved is for parameters in the query")
	case p.EncodedSlash && p.In != InPath:
		return errors.New("encodedSlash is for parameters in the path")
	case p.Value != nil && p.Arg != "":
		return errors.New("value and arg do not go together")
	case p.Value != nil && p.In == InHeader && !isFieldValue(*p.Value):
		return errors.New("value cannot be the value of a header")
	case p.Value != nil && (toolspec.SecretName(p.Name) || toolspec.SecretValue(*p.Value)):
		return errors.New("value looks like a credential: a document holds none, use a connection")
	}
	return nil
}

func (b *Body) check() error {
	switch {
	case b.Arg == "":
		return errors.New("body.arg is missing")
	case b.Type != BodyJSON && b.Type != BodyForm && b.Type != BodyText:
		return errors.New("body.type must be json, form or text")
	case b.Type != BodyForm && len(b.Fields) > 0:
		return errors.New("body.fields go with the type form only")
	}
	if b.MediaType != "" {
		if _, _, err := mime.ParseMediaType(b.MediaType); err != nil || !isFieldValue(b.MediaType) {
			return errors.New("body.mediaType is no media type")
		}
	}
	for i, f := range b.Fields {
		if !slices.Contains([]Style{Form, SpaceDelimited, PipeDelimited, DeepObject}, f.Style) || f.Name == "" {
			return fmt.Errorf("body.fields[%d] must have a name, and a style of a query", i)
		}
	}
	return nil
}

// checkArgs compares the arguments of the input schema with the parameters. An argument in the
// path is required.
func (t Tool) checkArgs() error {
	var input struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(t.Input, &input); err != nil {
		return errors.New("input must be a JSON Schema with properties")
	}
	used := map[string]bool{}
	need := func(key, arg string) error {
		if _, there := input.Properties[arg]; !there {
			return fmt.Errorf("request.%s: the input schema has no argument %q", key, arg)
		}
		used[arg] = true
		return nil
	}
	path, _ := readTemplate(t.Request.Path)
	all := slices.Clone(t.Request.Parameters)
	for _, name := range path.names() {
		if !slices.ContainsFunc(all, func(p Parameter) bool { return p.In == InPath && p.Name == name }) {
			all = append(all, Parameter{In: InPath, Name: name})
		}
	}
	for _, p := range all {
		if p.Value != nil {
			continue
		}
		if err := need("parameters", p.arg()); err != nil {
			return err
		}
		if p.In == InPath && !slices.Contains(input.Required, p.arg()) {
			return fmt.Errorf("input.required must have %q, which is in the path", p.arg())
		}
	}
	if t.Request.Body != nil {
		if err := need("body.arg", t.Request.Body.Arg); err != nil {
			return err
		}
	}
	for arg := range input.Properties {
		if !used[arg] {
			return fmt.Errorf("input.properties: no part of the request uses the argument %q", arg)
		}
	}
	return nil
}

func (r Response) check() error {
	for _, status := range r.Results {
		if !isStatus(status) {
			return fmt.Errorf("results: %q is no status such as 200 or 2XX", status)
		}
	}
	for i, f := range r.Errors {
		if !isStatus(f.Status) {
			return fmt.Errorf("errors[%d].status: %q is no status such as 404 or 4XX", i, f.Status)
		}
		if f.Is != Final && f.Is != Busy && f.Is != Transient {
			return fmt.Errorf("errors[%d].is must be final, busy or transient", i)
		}
	}
	switch {
	case r.MaxBytes < 0 || r.MaxBytes > MaxBody:
		return fmt.Errorf("maxBytes must be from 1 to %d", MaxBody)
	case r.Type != ResponseJSON && (r.Pointer != "" || len(r.Schema) > 0):
		return errors.New("pointer and schema go with the type json only")
	}
	if _, ok := strictjson.SplitPointer(r.Pointer); r.Pointer != "" && !ok {
		return errors.New("pointer is not a JSON pointer: start it with /")
	}
	if r.Empty && len(r.Schema) > 0 {
		s, err := jsonschema.CompileValue(r.Schema)
		if err == nil && len(s.Validate(json.RawMessage("null"))) > 0 {
			return errors.New("schema must accept null, because empty is true")
		}
	}
	return nil
}
