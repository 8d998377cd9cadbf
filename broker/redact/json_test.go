package redact

import (
	"encoding/hex"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	secrets := live(t)
	for value, want := range map[string]string{
		`{"b":1, "a":"nothing"}`:                                             `{"b":1, "a":"nothing"}`,
		`{"b":1.10,"a":"Bearer ` + token + `, <b>"}`:                         `{"a":"Bearer [redacted], <b>","b":1.10}`,
		`["` + hex.EncodeToString([]byte(token)) + `",12345678901234567890]`: `["[redacted]",12345678901234567890]`,
		`{"` + token + `":{"x":null}}`:                                       `{"[redacted]":{"x":null}}`,
		`{"args":"{\"k\":\"` + token + `\"}"}`:                               `{"args":"{\"k\":\"[redacted]\"}"}`,
		`["` + token[:20] + `","` + token[20:] + `"]`:                        "",
		`no JSON ` + token:                                                   "",
		`no JSON`:                                                            `no JSON`,
	} {
		clean, ok := JSON([]byte(value), secrets)
		if string(clean) != want || ok != (want != "") {
			t.Errorf("%s: %s, %t", value, clean, ok)
		}
	}
	if clean, ok := JSON([]byte(`"`+token+`"`), nil); !ok || string(clean) != `"`+token+`"` {
		t.Error("no set redacts")
	}
}
