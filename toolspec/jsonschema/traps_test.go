package jsonschema

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Each test fails without the guard in its name.

func TestTrapRemoteReferenceIsNeverFetched(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte(`{"type":"integer"}`))
	}))
	defer server.Close()
	doc := json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"` + server.URL + `/a.json"}}}`)
	if _, err := Compile(doc); err == nil {
		t.Error("Compile accepted a remote reference")
	}
	if _, err := Compile(json.RawMessage(`{"$schema":"` + server.URL + `","type":"object"}`)); err == nil {
		t.Error("Compile accepted a remote dialect")
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests", hits.Load())
	}
}

func TestTrapUnresolvedReferenceAcceptsEverything(t *testing.T) {
	for _, ref := range []string{"https://example.com/a.json", "#/$defs/a", "#a", "", "a.json", "urn:a"} {
		if _, err := Compile([]byte(`{"type":"object","properties":{"a":{"$ref":"` + ref + `"}}}`)); err == nil {
			t.Errorf("%s: an unresolved reference was accepted", ref)
		}
	}
}

func TestTrapSameIDInTwoDocuments(t *testing.T) {
	a := compiled(t, `{"$id":"https://example.com/s","type":"object","properties":{"v":{"type":"integer"}}}`)
	b := compiled(t, `{"$id":"https://example.com/s","type":"object","properties":{"v":{"type":"string"}}}`)
	if first(a, `{"v":1}`) != "" || first(b, `{"v":"x"}`) != "" || first(b, `{"v":1}`) == "" {
		t.Error("one document got the rules of the other")
	}
}

// TestTrapReferenceResolvesFromTheRoot: the library looks for a pointer in the enclosing schemas
// first.
func TestTrapReferenceResolvesFromTheRoot(t *testing.T) {
	s := compiled(t, `{"type":"object","definitions":{"v":{"type":"string"}},"properties":{
		"outer":{"type":"object","definitions":{"v":{"type":"integer"}},"properties":{"x":{"$ref":"#/definitions/v"}}}}}`)
	if first(s, `{"outer":{"x":"text"}}`) != "" || first(s, `{"outer":{"x":1}}`) == "" {
		t.Error("the reference was taken from the enclosing schema")
	}
	// The nearest match is the reference itself, which would accept everything.
	s = compiled(t, `{"type":"object","properties":{"name":{"type":"integer"},
		"child":{"type":"object","properties":{"name":{"$ref":"#/properties/name"}}}}}`)
	if first(s, `{"child":{"name":"text"}}`) == "" {
		t.Error("the reference resolved to itself")
	}
	s = compiled(t, `{"type":"object","$defs":{"a/b~c d":{"type":"integer"}},"properties":{"v":{"$ref":"#/$defs/a~1b~0c%20d"}}}`)
	if first(s, `{"v":"text"}`) == "" || first(s, `{"v":1}`) != "" {
		t.Error("escapes in the pointer")
	}
}

func TestTrapReferenceLoopAcceptsEverything(t *testing.T) {
	for _, doc := range []string{
		`"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"properties":{"x":{"$ref":"#/definitions/a"}}`,
		`"properties":{"x":{"$ref":"#/properties/x"}}`,
		`"allOf":[{"$ref":"#"}]`,
		`"anyOf":[{"not":{"$ref":"#"}}]`,
		`"if":{"$ref":"#"}`,
		`"dependentSchemas":{"a":{"$ref":"#"}}`,
	} {
		if _, err := Compile(json.RawMessage(`{"type":"object",` + doc + `}`)); err == nil {
			t.Errorf("%s: accepted", doc)
		}
	}
}

func TestTrapUnknownFormatFailsEverything(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"a":{"type":"string","format":"password"},"b":{"type":"integer","format":"uint64"}}}`)
	if got := first(s, `{"a":"x","b":1}`); got != "" {
		t.Error(got)
	}
}

func TestTrapContentKeywordsAreAnnotations(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{
		"png":{"type":"string","contentMediaType":"image/png","contentEncoding":"base64url"},
		"yaml":{"type":"string","contentMediaType":"application/yaml"},
		"json":{"type":"string","contentMediaType":"application/json","contentSchema":{"type":"integer"}}}}`)
	if got := first(s, `{"png":"_-","yaml":"a: [","json":"{"}`); got != "" {
		t.Error(got)
	}
}

// TestTrapNullSchema: the library panics at the first instance if a schema is null.
func TestTrapNullSchema(t *testing.T) {
	for _, doc := range []string{
		`{"type":"object","properties":{"a":null},"required":["a"]}`, `{"type":"object","$defs":{"a":null}}`,
		`{"type":"object","properties":{"l":{"items":null}}}`, `{"type":"object","allOf":[null]}`,
	} {
		_, err := Compile(json.RawMessage(doc))
		if err == nil || !strings.Contains(err.Error(), "must be an object or a boolean") {
			t.Errorf("%s: got %v", doc, err)
		}
	}
}

// TestTrapMissingFieldHasNoTypeProblem: the library validates null for a required field that is
// absent.
func TestTrapMissingFieldHasNoTypeProblem(t *testing.T) {
	s := compiled(t, `{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["b"]}}}`)
	if got := s.Validate(json.RawMessage(`{}`)); len(got) != 1 || got[0].Kind != KindMissingRequired {
		t.Errorf("got %v", got)
	}
}

// TestTrapConcurrentUse: the library writes to its schemas during validation; run with -race.
func TestTrapConcurrentUse(t *testing.T) {
	hammer := func(t *testing.T, doc, good, bad string) {
		s := compiled(t, doc)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 200 {
					if first(s, good) != "" || first(s, bad) == "" {
						t.Error("wrong verdict")
					}
				}
			})
		}
		group.Wait()
	}
	t.Run("pattern", func(t *testing.T) {
		hammer(t, `{"type":"object","properties":{"a":{"type":"string","pattern":"^x+$"},"r":{"$ref":"#/$defs/p"},
			"all":{"allOf":[{"pattern":"^x"},{"type":"string"}],"pattern":"z$"}},"$defs":{"p":{"type":"string","pattern":"^y+$"}}}`,
			`{"a":"xx","r":"yy","all":"xz"}`, `{"a":"y","r":"x","all":"y"}`)
	})
	t.Run("patternProperties", func(t *testing.T) {
		hammer(t, `{"type":"object","patternProperties":{"^k":{"type":"integer"},"^K":{"type":"integer"}},"additionalProperties":false}`,
			`{"k1":1}`, `{"k1":"x"}`)
	})
}

// TestTrapBranchingBombs: fifteen lines of schema that need 2^n steps without a bound.
func TestTrapBranchingBombs(t *testing.T) {
	chain := func(apply string) string {
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`)
		for i := range 40 {
			next := `{"$ref":"#/$defs/a` + strconv.Itoa(i+1) + `"}`
			b.WriteString(`"a` + strconv.Itoa(i) + `":` + strings.ReplaceAll(apply, "NEXT", next) + `,`)
		}
		b.WriteString(`"a40":{"type":"string"}}}`)
		return b.String()
	}
	deep := func(open, end string) string { return strings.Repeat(open, 60) + `1` + strings.Repeat(end, 60) }
	for name, c := range map[string][2]string{
		"in place":          {chain(`{"allOf":[NEXT,NEXT]}`), `{"x":"s"}`},
		"properties":        {`{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep(`{"x":`, `}`)},
		"items":             {`{"type":"object","properties":{"x":{"$ref":"#/$defs/l"}},"$defs":{"l":{"oneOf":[{"items":{"$ref":"#/$defs/l"}},{"items":{"$ref":"#/$defs/l"}}]}}}`, `{"x":` + deep(`[`, `]`) + `}`},
		"pattern fields":    {`{"type":"object","patternProperties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`, deep(`{"ab":`, `}`)},
		"long enum":         {`{"type":"object","properties":{"l":{"type":"array","items":{"enum":["` + strings.Join(many("v", 20_000), `","`) + `"]}}}}`, `{"l":["v7"` + strings.Repeat(`,"v7"`, 50_000) + `]}`},
		"heavy pattern":     {`{"type":"object","properties":{"x":{"type":"string","pattern":"(a|b|c|.{0,900}){1}(.{0,900}){1}x{900}$"}}}`, `{"x":"` + strings.Repeat("a", 4<<20) + `"}`},
		"many patterns":     {`{"type":"object","patternProperties":{"` + strings.Join(many("^p", 3000), `":{},"`) + `":{}}}`, `{"` + strings.Join(many("q", 20_000), `":1,"`) + `":1}`},
		"many constants":    {`{"type":"object","properties":{"x":{"anyOf":[{"const":"` + strings.Join(many("c", 3000), `"},{"const":"`) + `"}]}}}`, `{"x":"` + strings.Repeat("a", 1<<20) + `"}`},
		"many needs":        {`{"type":"object","dependentRequired":{"` + strings.Join(many("n", 3000), `":["x"],"`) + `":["x"]}}`, `{"` + strings.Join(many("q", 20_000), `":1,"`) + `":1}`},
		"$ref and siblings": {`{"type":"object","properties":{"x":{"$ref":"#","anyOf":[{"$ref":"#"}]}}}`, deep(`{"x":`, `}`)},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			s, err := Compile(json.RawMessage(c[0]))
			if name == "in place" && err == nil {
				t.Error("compiled")
			}
			if err == nil {
				if problems := s.Validate(json.RawMessage(c[1])); len(problems) != 1 || problems[0].Kind != KindTooComplex {
					t.Errorf("got %v", problems)
				}
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestTrapPatternsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		pattern string
		fields  int
	}{
		"long":      {strings.Repeat("a", 5000), 1},
		"one class": {"[" + strings.Repeat("a", 5000) + "]", 1},
		"repeated":  {strings.Repeat("x{1000}", 10), 1},
		"nested":    {"((a{30}){30}){30}", 1},
		"too many":  {"x{990}", 60},
	} {
		doc := `{"type":"object","properties":{`
		for i := range c.fields {
			doc += `"p` + strconv.Itoa(i) + `":{"pattern":"` + c.pattern + `"},`
		}
		if _, err := Compile(json.RawMessage(doc + `"q":{}}}`)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// A pattern with catastrophic backtracking elsewhere takes linear time here.
	s := compiled(t, `{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}`)
	start := time.Now()
	if first(s, `{"a":"`+strings.Repeat("a", 100_000)+`!"}`) == "" || time.Since(start) > 10*time.Second {
		t.Errorf("took %v", time.Since(start))
	}
}

func many(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(i)
	}
	return list
}
