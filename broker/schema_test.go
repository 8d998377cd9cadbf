package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

const schemaFile = "../docs/schema/provider.schema.json"

func published(t *testing.T) (*jsonschema.Schema, []byte) {
	t.Helper()
	doc, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s, doc
}

// valid reports whether the schema accepts every document of a file.
func valid(t *testing.T, s *jsonschema.Schema, source string) bool {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(source))
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			t.Fatalf("%v in %s", err, source)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Validate(raw)) > 0 {
			return false
		}
	}
}

// TestSchemaAcceptsProviders: what ReadProviders accepts the published schema accepts, be it shipped, shown or of a test.
func TestSchemaAcceptsProviders(t *testing.T) {
	t.Parallel()
	s, _ := published(t)
	files, err := fs.Glob(shippedFiles, "providers/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%v, %v", files, err)
	}
	documents := []string{
		described,
		"id: a\nkind: signed\nhosts: [a.example]\nsigner: hmac-sha256",
		"id: a\nkind: basic\nhosts: [\"10.0.0.1:8443\", \"[2001:db8::1]:8443\", \"2001:db8::1\", intranet, \"*.a.example:8443\"]",
		"id: a\nkind: bearer\ninsecure: true\nhosts: [localhost, \"localhost:80\", \"127.0.0.1:8080\", \"[::1]:8080\", \"::1\"]",
		"id: a\nkind: bearer\ninsecure: false\nhosts: [a.example]",
		"id: a\nkind: api_key\nhosts: [a.example]\nplace: {header: Authorization, template: \"Key {key}\"}",
		"id: a\nkind: oauth2\ninsecure: true\nhosts: [localhost]\noauth2: {flow: client_credentials, tokenUrl: \"http://localhost:9/token?x=y\", clientAuth: body}",
	}
	page, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(page), "```yaml providers\n")
	shown, _, closed := strings.Cut(shown, "\n```")
	if !found || !closed {
		t.Error("the page shows no providers")
	}
	documents = append(documents, shown)
	for _, file := range files {
		text, err := shippedFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	for _, doc := range documents {
		if all, err := ReadProviders([]byte(doc)); err != nil || len(all) == 0 {
			t.Errorf("%v:\n%s", err, doc)
		}
		if !valid(t, s, doc) {
			t.Errorf("the schema refuses\n%s", doc)
		}
	}
}

// TestSchemaRefusesProviders: both refuse the same descriptions.
func TestSchemaRefusesProviders(t *testing.T) {
	t.Parallel()
	s, _ := published(t)
	oauth := func(of string) string { return "id: a\nkind: oauth2\nhosts: [a.example]\noauth2: {" + of + "}" }
	place := func(of string) string { return "id: a\nkind: api_key\nhosts: [a.example]\nplace: {" + of + "}" }
	hosts := func(of string) string { return "id: a\nkind: bearer\nhosts: [" + of + "]" }
	for _, doc := range []string{
		"{}", "[]", "id: A\nkind: bearer\nhosts: [a.example]", "kind: bearer\nhosts: [a.example]", "id: a\nhosts: [a.example]", "id: a\nkind: bearer",
		"id: a\nkind: token\nhosts: [a.example]", hosts("a.example") + "\nkinds: x", hosts("a.example") + "\nplace: {header: X}", hosts("a.example") + "\nsigner: x",
		hosts("a.example") + "\noauth2: {flow: client_credentials, tokenUrl: \"https://a.example\"}", hosts("a.example") + "\ninsecure: true",
		hosts("127.0.0.1, a.example") + "\ninsecure: true", hosts(""), hosts("A.example"), hosts("\"https://a.example/\""), hosts("\"*\""), hosts("\"*.com\""),
		hosts("\"a.example:0\""), hosts("\"a.example:\""), hosts("\"a.example:x\""), hosts("\"a b\""), hosts("\"\""), hosts("1" + strings.Repeat(", a.example", MaxHosts)),
		"id: a\nkind: api_key\nhosts: [a.example]", place(""), place("header: X, query: y"), place("header: \"X Y\""), place("header: Host"), place("header: content-LENGTH"),
		place("header: X, template: none"), place("header: X, template: \"{key}{key}\""), place("header: X, template: \"{key}\\n\""), place("header: X, other: y"),
		"id: a\nkind: signed\nhosts: [a.example]", "id: a\nkind: oauth2\nhosts: [a.example]", oauth("tokenUrl: \"https://a.example\""),
		oauth("flow: implicit, tokenUrl: \"https://a.example\""), oauth("flow: client_credentials"),
		oauth("flow: authorization_code, tokenUrl: \"https://a.example\""),
		oauth("flow: client_credentials, authUrl: \"https://a.example\", tokenUrl: \"https://a.example\""),
		oauth("flow: client_credentials, tokenUrl: \"http://a.example\""), oauth("flow: client_credentials, tokenUrl: \"https://u:p@a.example\""),
		oauth("flow: client_credentials, tokenUrl: \"https://a.example#x\""), oauth("flow: client_credentials, tokenUrl: token"),
		oauth("flow: client_credentials, tokenUrl: \"https://a.example\", revokeUrl: \"http://a.example\""),
		oauth("flow: client_credentials, tokenUrl: \"https://a.example\", clientAuth: jwt"),
		oauth("flow: client_credentials, tokenUrl: \"https://a.example\", scopes: [" + strings.Repeat("x, ", MaxScopes) + "x]"),
	} {
		if all, err := ReadProviders([]byte(doc)); err == nil {
			t.Errorf("%+v is accepted:\n%s", all, doc)
		}
		if valid(t, s, doc) {
			t.Errorf("the schema accepts\n%s", doc)
		}
	}
}

// TestSchemaNamesKeys: the schema knows every key that a description has, and no other.
func TestSchemaNamesKeys(t *testing.T) {
	t.Parallel()
	type object struct {
		Properties map[string]json.RawMessage
	}
	var doc struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	_, text := published(t)
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for name, typ := range map[string]reflect.Type{"": reflect.TypeFor[Provider](), "place": reflect.TypeFor[Place](), "oauth2": reflect.TypeFor[OAuth2]()} {
		properties := doc.Properties
		if name != "" {
			properties = doc.Defs[name].Properties
		}
		var want []string
		for i := range typ.NumField() {
			want = append(want, typ.Field(i).Tag.Get("yaml"))
		}
		got := slices.Sorted(maps.Keys(properties))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q has %v, the schema %v", name, want, got)
		}
	}
}
