package httptool_test

import (
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/httptool"
)

const full = `format: 1
name: shop
tools:
  - id: shop__order
    title: Order
    description: |
      Orders items: "now".

      - yes
    version: "1.0"
    effect: external_side_effect
    risk: medium
    idempotent: true
    connection: required
    host: api.example.com:8443
    scopes: [orders]
    timeoutSeconds: 20
    maxArgsBytes: 60000
    maxResultBytes: 2000
    tags: ["true", shop]
    harmlessNames: [token]
    redaction: {allow: [/id, ""], maskInput: [/body/note]}
    input:
      type: object
      properties:
        shop: {type: string, enum: ["1", "null", "~", "2020-01-01", "0x1", " x"]}
        token: {type: string, pattern: "^\\d+$", default: "a\tb"}
        body: {type: object, properties: {note: {type: string}, n: {type: number, maximum: 1.50}}}
      required: [shop]
    request:
      method: POST
      path: /shops/{shop}/orders
      parameters:
        - {in: path, name: shop, style: label, explode: true}
        - {in: query, name: t, arg: token, allowReserved: true}
        - {in: header, name: X-Version, value: "2"}
      body: {arg: body, type: form, fields: [{name: note, style: deepObject}]}
      idempotencyKey: Idempotency-Key
    response:
      type: json
      results: ["201", 2XX]
      pointer: /order
      maxBytes: 4096
      schema: {type: object, properties: {id: {}}}
      errors: [{status: 4XX, is: final, message: No.}]
`

// TestReadAndWrite: a document that is written is the document that was read.
func TestReadAndWrite(t *testing.T) {
	t.Parallel()
	first, err := httptool.Read("shop.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	text, err := httptool.Write(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := httptool.Read("shop.yaml", text)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("%v\n%s\n%+v\n%+v", err, text, first, second)
	}
	if want := `"maximum":1.50`; !strings.Contains(string(second.Tools[0].Input), want) {
		t.Errorf("%s has no %s", second.Tools[0].Input, want)
	}
	asJSON, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	third, err := httptool.Read("shop.json", asJSON)
	if err != nil || third.Tools[0].ID != first.Tools[0].ID {
		t.Errorf("as JSON: %v", err)
	}
}

// TestVersion: the version has the whole digest of the request, so nobody can make two requests with one version.
func TestVersion(t *testing.T) {
	t.Parallel()
	versions := map[string]bool{}
	for _, text := range []string{full, strings.Replace(full, "/shops/", "/others/", 1), strings.Replace(full, "message: No.", "message: Yes.", 1)} {
		d, err := httptool.Read("shop.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tools, err := d.Bind()
		if err != nil {
			t.Fatal(err)
		}
		version := tools[0].Definition().Version
		if _, sum, _ := strings.Cut(version, "+"); len(sum) != 2*sha256.Size || versions[version] {
			t.Errorf("the version is %s", version)
		}
		versions[version] = true
	}
}

// TestFaults: a fault has its place.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown key":     {"    risk: medium", "    risks: medium", "shop.yaml:12:5: tools[0].risks: is not known here; did you mean risk?"},
		"missing key":     {"    version: \"1.0\"\n", "", "tools[0].version: is missing"},
		"effect":          {"effect: external", "effect: internal", "tools[0].effect: must be"},
		"id":              {"id: shop__order", "id: order", "must be namespaced"},
		"path":            {"/shops/{shop}/orders", "/shops/../orders", "request.path has . or .. as a segment"},
		"number":          {"timeoutSeconds: 20", "timeoutSeconds: 0", "must be a whole number"},
		"anchor":          {"tags: [", "tags: &a [", "anchors"},
		"status":          {"status: 4XX", "status: all", "is no status"},
		"unused argument": {"arg: token", "arg: shop", `no part of the request uses the argument "token"`},
		"format":          {"format: 1", "format: 2", "must be a whole number from 1 to 1"},
		"two tools":       {"response:", "response: &x", "anchors"},
	} {
		if _, err := httptool.Read("shop.yaml", []byte(strings.Replace(full, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
