package schema

import (
	"strings"
	"testing"
)

// The tape takes exactly what the slower reader takes, which knows the reasons.
func FuzzTape(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x\u00e9\n"],"b":{}}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `01`, `-`, `1.`, `1e`, `[1,]`, `{"a":1,}`,
		`{,}`, "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"", ` 1 `, `1 2`, `1e400`, `1e-400`, `0e999`, strings.Repeat("[", 65), `{"a"}`, `nul`, `"\x"`, "\ufeff1", "\"\u2028\"",
		`{` + `"` + strings.Join(many("k", 40), `":1,"`) + `":1,"k7":2}`, "\x0c1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tp tape
		got := tp.read(raw)
		if want := scan(raw); got != (want == nil) {
			t.Fatalf("%q: tape says %v, scan says %v", raw, got, want)
		}
	})
}
