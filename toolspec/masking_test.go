package toolspec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
)

func TestMaskOutput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, path  string
		with        toolspec.Masker
		value, want string
	}{
		{"all of a text", "/a", toolspec.MaskAll, `{"a":"x","b":"y"}`, `{"a":"***","b":"y"}`},
		{"all of what is open", "/a", toolspec.MaskAll, `{"a":{"k":[1,"x",true,null]}}`, `{"a":{"***":["***","***",true,null]}}`},
		{"names that look alike", "/a", toolspec.MaskEmail, `{"a":{"a@x.org":1,"b@x.org":2,"c":3}}`, `{"a":{"***":1,"***2":2,"c":3}}`},
		{"elements", "/l/*/m", toolspec.MaskAll, `{"l":[{"m":"x","n":"y"},{"n":"z"}]}`, `{"l":[{"m":"***","n":"y"},{"n":"z"}]}`},
		{"values of a map", "/m/*", toolspec.MaskAll, `{"m":{"k":"x"}}`, `{"m":{"k":"***"}}`},
		{"null", "/a", toolspec.MaskAll, `{"a":null}`, `{"a":null}`},
		{"emails", "", toolspec.MaskEmail, `"ask ann.o+x@mail.example.org, (bob@x), or ann%40x.org. @team stays"`, `"ask ***, (***), or ***. @team stays"`},
		{"a card", "", toolspec.MaskCard, `"no. 12 4111 1111-1111 1111 exp 12/29"`, `"no. 12 *** exp 12/29"`},
		{"a card alone", "", toolspec.MaskCard, `"378282246310005"`, `"***"`},
		{"a number with other check digits", "", toolspec.MaskCard, `"4111111111111112"`, `"4111111111111112"`},
		{"a card as a number", "/a", toolspec.MaskCard, `{"a":4111111111111111,"b":4111111111111111}`, `{"a":"***","b":4111111111111111}`},
		{"an IBAN", "", toolspec.MaskIBAN, `"to DE89 3704 0044 0532 0130 00 Bank, gb29NWBK60161331926819"`, `"to *** Bank, ***"`},
		{"no IBAN", "", toolspec.MaskIBAN, `"DE88 3704 0044 0532 0130 00"`, `"DE88 3704 0044 0532 0130 00"`},
		{"phones", "", toolspec.MaskPhone, `"+49 (0)30 1234-567 or 555.123.4567, room 12"`, `"*** or ***, room 12"`},
		{"a pattern", "", toolspec.MaskRegex(`\d{3}-\d{2}`), `"123-45 and 12-345"`, `"*** and 12-345"`},
		{"a pattern that matches the mask", "", toolspec.MaskRegex(`.`), `"ab***c"`, `"***"`},
		{"all of a text with stars", "", toolspec.MaskAll, `"a***b"`, `"***"`},
		{"stars within a match", "", toolspec.MaskRegex(`key=\S+`), `"key=A***SECRET end"`, `"*** end"`},
		{"stars of Markdown", "", toolspec.MaskEmail, `"***joe***@example.com"`, `"***"`},
		{"matches beside each other", "", toolspec.MaskRegex(`[0-9]`), `"a123b4"`, `"a***b***"`},
		{"a beginning", "", toolspec.MaskRegex(`^[a-z]`), `"abcd"`, `"***bcd"`},
		{"a pattern with context", "", toolspec.MaskRegex(`\bfoo`), `"foofoo bar"`, `"*** bar"`},
		{"a number before a card", "", toolspec.MaskCard, `"06123456787 4111 1111 1111 1111"`, `"***"`},
		{"a card with other separators", "", toolspec.MaskCard, `"4111 1111  1111.1111 4111‑1111‑1111‑1111 ４１１１１１１１１１１１１１１１"`, `"*** ***"`},
		{"a card with an exponent", "/a", toolspec.MaskCard, `{"a":[4.111111111111111e15,1e999]}`, `{"a":["***",1e999]}`},
		{"emails in other notations", "", toolspec.MaskEmail, `"o'brien@example.com; john@[192.0.2.1]; joe＠example.com; a&#64;example.com"`, `"***; ***; ***; ***"`},
		{"an IBAN beside letters", "", toolspec.MaskIBAN, `"iban_DE89370400440532013000EUR DE89-3704-0044-0532-0130-00"`, `"iban_***EUR ***"`},
		{"a phone with wide separators", "", toolspec.MaskPhone, `"+49 (0) 30 - 123456 x"`, `"*** x"`},
		{"an index in what is open", "/a/1", toolspec.MaskAll, `{"a":["x","y"]}`, `{"a":["x","***"]}`},
		{"a numbered name", "/a", toolspec.MaskAll, `{"a":{"k":1,"l":2,"m":3}}`, `{"a":{"***":"***","***2":"***","***3":"***"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{Path: tc.path, With: tc.with}}}
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
			got, err := r.Output(json.RawMessage(tc.value))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			}
			if again, err := r.Output(got); err != nil || string(again) != string(got) {
				t.Errorf("a second pass makes %s of %s (%v)", again, got, err)
			}
		})
	}
}

func TestMaskingCheck(t *testing.T) {
	t.Parallel()
	for with, want := range map[toolspec.Masker]string{
		"":                       "none of all",
		"name":                   "none of all",
		toolspec.MaskRegex("("):  "not one of RE2",
		toolspec.MaskRegex("a*"): "matches the empty text",
		toolspec.MaskRegex(strings.Repeat("a", 513)): "of at most 512",
	} {
		r := toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{Path: "/a", With: with}}}
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", with, err, want)
		}
		if _, err := r.Output(json.RawMessage(`{"a":"x"}`)); err == nil {
			t.Errorf("%q masks", with)
		}
	}
	if err := (toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{Path: "a", With: toolspec.MaskAll}}}).Check(); err == nil {
		t.Error("a path that is no pointer is accepted")
	}
	if err := (toolspec.Redaction{Allow: []string{""}, MaskOutput: make([]toolspec.Masking, 65)}).Check(); err == nil {
		t.Error("65 maskings are accepted")
	}
}

// TestMaskOutputCost: a text that is made to cost much costs little.
func TestMaskOutputCost(t *testing.T) {
	t.Parallel()
	for _, with := range []toolspec.Masker{toolspec.MaskEmail, toolspec.MaskCard, toolspec.MaskPhone, toolspec.MaskIBAN, toolspec.MaskRegex(`\*`)} {
		for _, piece := range []string{"1 ", "1", "DE12 ", "DE12", "a@", "(1)-", "x%40", "*", "*1"} {
			r := toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{With: with}}}
			value, began := json.RawMessage(`"`+strings.Repeat(piece, (1<<17)/len(piece))+`"`), time.Now()
			if _, err := r.Output(value); err != nil || time.Since(began) > 10*time.Second {
				t.Errorf("%s of many %q: %v after %s", with, piece, err, time.Since(began))
			}
		}
	}
}

// TestMaskManyNames: names that look alike cost no more than their number, and stay short.
func TestMaskManyNames(t *testing.T) {
	t.Parallel()
	names := map[string]int{}
	for i := range 4_000 {
		names[fmt.Sprintf("u%d@example.com", i)] = i
	}
	value, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	r, began := toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{With: toolspec.MaskEmail}}}, time.Now()
	got, err := r.Output(value)
	if err != nil || len(got) > len(value) || time.Since(began) > 10*time.Second {
		t.Errorf("%d bytes became %d in %s (%v)", len(value), len(got), time.Since(began), err)
	}
	if again, err := r.Output(got); err != nil || string(again) != string(got) {
		t.Errorf("a second pass changes names (%v)", err)
	}
}

// TestMaskOutputProperty: nothing that a masker covers is left, wherever it stands in a value, and
// a second pass changes nothing.
func TestMaskOutputProperty(t *testing.T) {
	t.Parallel()
	covered := map[toolspec.Masker][]string{
		toolspec.MaskAll:                 {"anything", "7"},
		toolspec.MaskEmail:               {"ann.lee@mail.example.org", "x@y"},
		toolspec.MaskCard:                {"4111111111111111", "3782 822463 10005"},
		toolspec.MaskPhone:               {"+4930123456", "555-123-4567"},
		toolspec.MaskIBAN:                {"DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"},
		toolspec.MaskRegex(`key-[0-9]+`): {"key-1", "key-99"},
	}
	for with, secrets := range covered {
		t.Run(string(with), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				secret := rapid.SampledFrom(secrets).Draw(t, "secret")
				text := rapid.SampledFrom([]string{"", "see ", "é: ", "(", "*** ", "12 "}).Draw(t, "before") + secret +
					rapid.SampledFrom([]string{"", " now", ", ", ")", "\n7"}).Draw(t, "after")
				var value any = text
				for range rapid.IntRange(0, 4).Draw(t, "depth") {
					switch rapid.IntRange(0, 2).Draw(t, "shape") {
					case 0:
						value = []any{"a", value}
					case 1:
						value = map[string]any{"b": value, "c": 1}
					case 2:
						value = map[string]any{text: value}
					}
				}
				raw, err := json.Marshal(map[string]any{"v": value})
				if err != nil {
					t.Fatal(err)
				}
				r := toolspec.Redaction{Allow: []string{"/v"}, MaskOutput: []toolspec.Masking{{Path: "/v", With: with}}}
				got, err := r.Output(raw)
				if err != nil || strings.Contains(string(got), secret) {
					t.Fatalf("%s of %s (%v)", got, raw, err)
				}
				if again, err := r.Output(got); err != nil || string(again) != string(got) {
					t.Fatalf("a second pass makes %s of %s (%v)", again, got, err)
				}
			})
		})
	}
}
