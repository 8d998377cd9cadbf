package openapi

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

func importFile(t *testing.T, name string, o Options) (httptool.Document, *Report) {
	t.Helper()
	source, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	o.Namespace = "shop"
	d, report, err := Import(source, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Imported)+len(report.Skipped) != report.Operations || len(report.Imported) != len(d.Tools) {
		t.Errorf("%s: %d operations, %d imported, %d skipped, %d tools", name, report.Operations, len(report.Imported), len(report.Skipped), len(d.Tools))
	}
	if _, err := httptool.Write(d); len(d.Tools) > 0 && err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return d, report
}

func toolOf(t *testing.T, d httptool.Document, id string) httptool.Tool {
	t.Helper()
	i := slices.IndexFunc(d.Tools, func(t httptool.Tool) bool { return t.ID == id })
	if i < 0 {
		t.Fatalf("no tool %s", id)
	}
	return d.Tools[i]
}

// TestImported: each operation is a tool, or in the report with a place and a reason.
func TestImported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file              string
		options           Options
		imported, skipped []string
	}{
		{"swagger.json", Options{}, []string{"shop__listPets", "shop__addPet", "shop__updatePet"}, []string{
			"POST /pets/{id} /paths/~1pets~1{id}/post/parameters/0: the media type multipart/form-data is not supported",
			`DELETE /pets/{id} /paths/~1pets~1{id}/delete/parameters/0: the collectionFormat "tsv" is not supported`,
		}},
		{"openapi30.yaml", Options{}, []string{
			"shop__orders_get_0c8e0cf8", "shop__orders_update", "shop__orders_delete", "shop__orders_get_be6d737e", "shop__get_matrix_a_b", "shop__photo", "shop__open",
		}, []string{
			"/local-file /paths/~1local-file: refers to another document",
			"PUT /photo /paths/~1photo/put/requestBody: none of the media types",
			"GET /remote /paths/~1remote/get/parameters/0/schema: refers to another document, and nothing is fetched",
			"GET /two /paths/~1two/get/security: needs a credential that no kind",
			`POST /login /paths/~1login/post/requestBody/content/application~1json/schema: needs the argument "password"`,
		}},
		{"openapi31.yaml", Options{Connection: httptool.Required}, []string{"shop__notes_", "shop__notes_", "shop__a_very_long_operation_id_that_does_not_fit_into_t_"}, []string{
			"TRACE /notes/{id}.json /paths/~1notes~1{id}.json/trace: the method TRACE is not supported",
		}},
		{"openapi31.yaml", Options{}, nil, []string{"GET /notes /paths", "POST /notes /paths", "HEAD /notes", "TRACE"}},
		{"openapi31.yaml", Options{Server: "https://notes.example.com/x", Include: []string{"notes"}}, []string{"shop__notes_", "shop__notes_"}, nil},
	} {
		d, report := importFile(t, c.file, c.options)
		ok := len(d.Tools) == len(c.imported) && len(report.Skipped) == len(c.skipped)
		for i := 0; ok && i < len(d.Tools); i++ {
			ok = strings.HasPrefix(d.Tools[i].ID, c.imported[i]) && toolspec.CheckToolID(d.Tools[i].ID) == nil
		}
		for i := 0; ok && i < len(c.skipped); i++ {
			f := report.Skipped[i]
			ok = strings.HasPrefix(f.Operation+" "+f.Pointer+": "+f.Reason, c.skipped[i])
		}
		if !ok {
			t.Errorf("%s %+v:", c.file, c.options)
			for _, tool := range d.Tools {
				t.Errorf("  imported %s", tool.ID)
			}
			for _, f := range report.Skipped {
				t.Errorf("  skipped %s %s: %s", f.Operation, f.Pointer, f.Reason)
			}
		}
	}
}

// TestTools: what the tools are.
func TestTools(t *testing.T) {
	t.Parallel()
	d, report := importFile(t, "openapi30.yaml", Options{Effects: []EffectOf{{"shop__orders_d*", toolspec.StateChange}}})
	get := toolOf(t, d, "shop__orders_get_0c8e0cf8")
	if get.Effect != toolspec.ReadOnly || get.Risk != toolspec.LowRisk || get.Connection != httptool.Required || get.Host != "" || get.Request.Path != "/api/orders/{orderId}" {
		t.Errorf("%+v", get)
	}
	// The secret of the account is left out of the value, so the account is listed by its other properties.
	if want := []string{"/account/name", "/id", "/note", "/parent/account/name", "/parent/id", "/parent/note", "/parent/total", "/total"}; !isSubset(want, get.Redaction.Allow) || slices.ContainsFunc(get.Redaction.Allow, func(p string) bool {
		return strings.HasSuffix(p, "/account") || strings.HasSuffix(p, "/parent") || strings.Contains(p, "secret")
	}) {
		t.Errorf("allow is %v", get.Redaction.Allow)
	}
	if input := string(get.Input); strings.Contains(input, "token") || strings.Contains(input, "(?!") {
		t.Errorf("input is %s", input)
	}
	update := toolOf(t, d, "shop__orders_update")
	for _, want := range []string{`"exclusiveMinimum":0`, `"type":["string","null"]`, `"enum":["a","b",null]`, `"required":["total"]`, `"$ref":"#/$defs/Order"`, `"$schema":"` + draft + `"`} {
		if !strings.Contains(string(update.Input), want) {
			t.Errorf("%s has no %s", update.Input, want)
		}
	}
	if !update.Response.Empty || update.Request.Body.MediaType != "application/merge-patch+json" || update.Effect != toolspec.ExternalSideEffect {
		t.Errorf("%+v", update)
	}
	if remove := toolOf(t, d, "shop__orders_delete"); remove.Effect != toolspec.StateChange || remove.Risk != toolspec.HighRisk {
		t.Errorf("%+v", remove)
	}
	post := toolOf(t, d, "shop__orders_get_be6d737e")
	if !post.Idempotent || post.Request.IdempotencyKey != "Idempotency-Key" || post.Request.Body.Arg != "request_body" {
		t.Errorf("%+v", post)
	}
	if photo := toolOf(t, d, "shop__photo"); photo.Host != "photos.example.com" || photo.Response.Type != httptool.ResponseBytes {
		t.Errorf("%+v", photo)
	}
	if open := toolOf(t, d, "shop__open"); open.Connection != httptool.None || open.Host != "eu.orders.example.com" {
		t.Errorf("%+v", open)
	}
	kinds := ""
	for _, s := range report.Schemes {
		kinds += s.Name + "=" + s.Kind + s.Query + " "
	}
	if kinds != "token=bearer key=api_keyk sign= " {
		t.Errorf("schemes are %s", kinds)
	}
	_, report = importFile(t, "openapi31.yaml", Options{Connection: httptool.Required})
	if report.Title != "Notes[31m" {
		t.Errorf("the title is %q", report.Title)
	}
	d, _ = importFile(t, "openapi30.yaml", Options{Harmless: []string{"password"}})
	if login := toolOf(t, d, "shop__login"); !slices.Equal(login.HarmlessNames, []string{"password"}) {
		t.Errorf("%+v", login)
	}
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// TestStable: the id of a tool depends on no other operation but its namesakes, and two imports are equal.
func TestStable(t *testing.T) {
	t.Parallel()
	all, _ := importFile(t, "openapi30.yaml", Options{})
	some, _ := importFile(t, "openapi30.yaml", Options{Include: []string{"orders/*"}})
	for _, tool := range some.Tools {
		toolOf(t, all, tool.ID)
	}
	first, err := httptool.Write(all)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := importFile(t, "openapi30.yaml", Options{})
	if second, err := httptool.Write(again); err != nil || string(first) != string(second) {
		t.Errorf("the second import differs: %v", err)
	}
}

// TestNoDocument: what is no OpenAPI document is an error, and nothing else.
func TestNoDocument(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "{}", "[]", "null", "openapi: 3.2.0", "openapi: 4.0.0", "swagger: '1.2'", "\xff", "openapi: 3.0.0\npaths: &a [*a]", "asyncapi: 2.0.0"} {
		if d, report, err := Import([]byte(source), Options{Namespace: "shop"}); err == nil && (len(d.Tools) > 0 || report.Operations > 0) {
			t.Errorf("%q: %+v, %+v", source, d, report)
		}
	}
	for _, o := range []Options{{}, {Namespace: "core"}, {Namespace: "a__b"}, {Namespace: "a", Include: []string{"["}}, {Namespace: "a", Effects: []EffectOf{{"*", "x"}}}} {
		if _, _, err := Import([]byte("openapi: 3.0.0"), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// FuzzImport: no document makes an import panic, or a tool that a worker refuses.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"swagger.json", "openapi30.yaml", "openapi31.yaml"} {
		source, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		d, _, err := Import(source, Options{Namespace: "shop", Connection: httptool.Required})
		if err != nil {
			return
		}
		for _, tool := range d.Tools {
			if err := bind(tool); err != nil {
				t.Errorf("%s: %v", tool.ID, err)
			}
		}
		if len(d.Tools) > 0 {
			if _, err := httptool.Write(d); err != nil {
				t.Error(err)
			}
		}
	})
}
