package openapicheck

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/pawl-run/pawl/internal/openapi"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

var documents = flag.String("documents", "", "files of OpenAPI documents, with commas between them, besides the published ones")

// publisher is a module that has published documents among its tests.
const publisher = "github.com/pb33f/libopenapi@v0.42.5"

// published are documents of publisher, one of each version.
var published = []string{"k8s.json", "stripe.yaml", "docusignv3.1.json"}

// TestDocuments: each operation of a published document is imported or in the report, and the request of each tool is one that
// the document allows.
func TestDocuments(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", publisher).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range published {
		files = append(files, filepath.Join(module.Dir, "test_specs", name))
	}
	if *documents != "" {
		files = append(files, strings.Split(*documents, ",")...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { check(t, file) })
	}
}

// mock is a server that validates the requests of one tool after another.
type mock struct {
	spec   *openapi3.T
	client *http.Client
	// route and path are those of the tool that is called; answer is what the server answers.
	route  *routers.Route
	path   *regexp.Regexp
	names  []string
	answer []byte
	seen   int
	fault  error
}

const base = "https://example.com/base"

func check(t *testing.T, file string) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, report, err := openapi.Import(source, openapi.Options{Namespace: "api", Connection: httptool.None, Server: base})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Imported)+len(report.Skipped) != report.Operations {
		t.Errorf("%d operations, %d imported, %d skipped", report.Operations, len(report.Imported), len(report.Skipped))
	}
	m := newMock(t, source)
	requests, faults, without := 0, map[string]int{}, 0
	for i, tool := range document.Tools {
		method, path, _ := strings.Cut(report.Imported[i].Operation, " ")
		if !m.expect(method, path) {
			t.Errorf("kin-openapi does not know %s %s", method, path)
			continue
		}
		for _, all := range []bool{false, true} {
			args, err := argsOf(tool, all)
			if err != nil {
				if !all {
					without++
					t.Logf("%s: no arguments: %v", tool.ID, err)
				}
				continue
			}
			requests++
			if err := m.call(t.Context(), tool, args); err != nil {
				text := strings.SplitN(err.Error(), "\n", 2)[0]
				if b := tool.Request.Body; b != nil && b.Type == httptool.BodyForm && missing.MatchString(text) {
					text += " " + inForm
				}
				faults[tool.ID+": "+text]++
			}
		}
	}
	t.Logf("OpenAPI %s: %d operations, %d imported, %d skipped; %d requests, %d not accepted; %d tools without made-up arguments",
		report.Version, report.Operations, len(report.Imported), len(report.Skipped), requests, len(faults), without)
	reasons := map[string]int{}
	for _, f := range report.Skipped {
		reasons[f.Reason]++
	}
	for reason, n := range reasons {
		t.Logf("skipped %d: %.200s", n, reason)
	}
	for fault := range faults {
		if reason := known(fault); reason != "" {
			t.Logf("not judged (%s): %.200s", reason, fault)
			continue
		}
		t.Errorf("%.400s", fault)
	}
}

// newMock reads the document with kin-openapi and starts the server.
func newMock(t *testing.T, source []byte) *mock {
	t.Helper()
	m := &mock{}
	var version struct {
		Swagger string `json:"swagger"`
	}
	if json.Unmarshal(source, &version) == nil && version.Swagger != "" {
		var old openapi2.T
		if err := json.Unmarshal(source, &old); err != nil {
			t.Fatal(err)
		}
		spec, err := openapi2conv.ToV3(&old)
		if err != nil {
			t.Fatal(err)
		}
		m.spec = spec
	} else {
		spec, err := openapi3.NewLoader().LoadFromData(source)
		if err != nil {
			t.Fatal(err)
		}
		m.spec = spec
	}
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	secure := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}}
	m.client = &http.Client{Transport: &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return secure.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}}}
	return m
}

// Client implements capability.PublicHTTP.
func (m *mock) Client() *http.Client { return m.client }

var inPath = regexp.MustCompile(`\\\{([^/{}]+)\\\}`)

// expect says which operation is called next.
func (m *mock) expect(method, path string) bool {
	item := m.spec.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return false
	}
	operation := *item.GetOperation(method)
	// OpenAPI does not say how a list is written in deepObject, so the validator refuses such a parameter.
	operation.Parameters = slices.DeleteFunc(slices.Clone(operation.Parameters), func(p *openapi3.ParameterRef) bool {
		return p.Value.Style == openapi3.SerializationDeepObject && !p.Value.Schema.Value.Type.Is("object")
	})
	m.route = &routers.Route{Spec: m.spec, Path: path, PathItem: item, Method: method, Operation: &operation}
	literal, _, _ := strings.Cut(path, "#")
	m.names = nil
	for _, found := range inPath.FindAllStringSubmatch(regexp.QuoteMeta(literal), -1) {
		m.names = append(m.names, strings.ReplaceAll(found[1], `\`, ""))
	}
	m.path = regexp.MustCompile("^/base" + inPath.ReplaceAllString(regexp.QuoteMeta(literal), "([^/]+?)") + "$")
	return true
}

// ServeHTTP validates a request.
func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.seen++
	m.fault = m.validate(r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(m.answer)
}

func (m *mock) validate(r *http.Request) error {
	found := m.path.FindStringSubmatch(r.URL.EscapedPath())
	if found == nil || r.Method != m.route.Method || r.Host != "example.com" {
		return fmt.Errorf("%s %s%s is not %s %s", r.Method, r.Host, r.URL.EscapedPath(), m.route.Method, m.route.Path)
	}
	params := map[string]string{}
	for i, name := range m.names {
		text, err := url.PathUnescape(found[i+1])
		if err != nil {
			return err
		}
		params[name] = text
	}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: m.route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true},
	})
}

// argsOf makes up arguments that the tool accepts.
func argsOf(tool httptool.Tool, all bool) (json.RawMessage, error) {
	var root map[string]any
	if err := json.Unmarshal(tool.Input, &root); err != nil {
		return nil, err
	}
	v, err := sampler{root, all}.value(root, 0)
	if err != nil {
		return nil, err
	}
	object, _ := v.(map[string]any)
	for _, p := range tool.Request.Parameters { // no argument in a path has a slash
		if text, ok := object[p.Name].(string); ok && p.In == httptool.InPath && p.Arg == "" {
			object[p.Name] = strings.ReplaceAll(text, "/", "")
		}
		// See expect.
		if _, ok := object[p.Name].(map[string]any); p.Style == httptool.DeepObject && !ok {
			delete(object, p.Name)
		}
	}
	args, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.Compile(tool.Input)
	if err != nil {
		return nil, err
	}
	if problems := schema.Validate(args); len(problems) > 0 {
		return nil, fmt.Errorf("made-up arguments %.200s: %v", args, problems)
	}
	return args, nil
}

// call runs a tool against the server.
func (m *mock) call(ctx context.Context, tool httptool.Tool, args json.RawMessage) error {
	bound, err := tool.Bind("check")
	if err != nil {
		return err
	}
	caps, err := toolspec.NewCapabilities(capability.PublicHTTPKey.Provide(m))
	if err != nil {
		return err
	}
	m.answer = []byte("{}")
	if len(tool.Response.Schema) > 0 {
		var root map[string]any
		if err := json.Unmarshal(tool.Response.Schema, &root); err == nil {
			if v, err := (sampler{root, false}).value(root, 0); err == nil {
				if text, err := json.Marshal(v); err == nil {
					m.answer = text
				}
			}
		}
	}
	before := m.seen
	m.fault = nil
	value, err := bound.Run(ctx, args, toolspec.Call{ToolID: tool.ID, Attempt: 3, IdempotencyKey: "key"}.WithCapabilities(caps))
	switch {
	case m.fault != nil:
		return fmt.Errorf("%w (arguments %.300s)", m.fault, args)
	case err != nil:
		return err
	case m.seen != before+1:
		return fmt.Errorf("%d requests", m.seen-before)
	case !slices.Contains([]string{"HEAD"}, tool.Request.Method) && !json.Valid(value):
		return fmt.Errorf("the value is no JSON")
	}
	return nil
}

// limits are what the validator or the made-up arguments cannot do, by the text of the fault.
var limits = []struct{ text, reason string }{
	{"unsupported schema of request body's property", "the validator does not read such a form"},
	{"request body has an error: value is required but missing", "all made-up fields are empty objects, which a form cannot write"},
	{`parameter "has" in query has an error: doesn't match schema due to: value must be a string`, "the validator reads an alternative of a text and a list as a list"},
}

// missing is the fault of a field that the validator does not see, and inForm marks it in a form: the
// validator sees neither lists and scalars in deepObject, nor objects without a field.
var missing = regexp.MustCompile(`property "[a-z_]+" is missing`)

const inForm = "(in a form)"

// known returns why a fault does not count.
func known(fault string) string {
	if strings.HasSuffix(fault, inForm) {
		return "the validator does not see lists and empty objects of a form"
	}
	for _, l := range limits {
		if strings.Contains(fault, l.text) {
			return l.reason
		}
	}
	return ""
}
