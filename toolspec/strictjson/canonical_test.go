package strictjson

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCanonicalOfRFC8785(t *testing.T) {
	for name, c := range map[string][2]string{
		"section 3.2.2": {
			"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n              2e-3, 0.000000000000000000000000001],\n  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n  \"literals\": [null, true, false]\n}",
			"{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
		},
		"section 3.2.3": { // sorted by UTF-16 code units: U+1F600 before U+FB33
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"scalars": {` [ -0, 0.0, 1.0, 100e-2, "\/" ] `, `[0,0,1,1,"/"]`},
	} {
		got, err := Canonical([]byte(c[0]))
		if err != nil || string(got) != c[1] {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c[1])
		}
	}
}

// Appendix B of RFC 8785.
func TestCanonicalNumbersOfRFC8785(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000", 0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21", 0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333", 0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343", 0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		got, err := Canonical([]byte(strconv.FormatFloat(math.Float64frombits(bits), 'e', -1, 64)))
		if err != nil || string(got) != want {
			t.Errorf("%016x: got %s, %v, want %s", bits, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, raw := range []string{``, `{"a":1,"a":1}`, `1e400`, `[1e-400]`, `{} 1`} {
		if got, err := Canonical([]byte(raw)); err == nil {
			t.Errorf("%s: got %s", raw, got)
		}
		if _, err := Digest([]byte(raw)); err == nil {
			t.Errorf("%s: has a digest", raw)
		}
	}
}

func TestDigest(t *testing.T) {
	got, err := Digest([]byte(` { } `))
	if err != nil || got != "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" { // sha256 of {}
		t.Errorf("got %s, %v", got, err)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.0,"\u0041",null]}`, `1e30`, `"\ud83d\ude00"`, `{"a":{"a":{}}}`, `[1e400]`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"é":7,"z":{"b":1,"a":[-0,0.10,1e21,"\/\u001f"]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		input := bytes.Clone(raw)
		once, err := Canonical(raw)
		if !bytes.Equal(input, raw) {
			t.Fatal("the input was changed")
		}
		if (err == nil) != (Check(raw) == nil) {
			t.Fatalf("Canonical and Check disagree: %v", err)
		}
		if err != nil {
			return
		}
		byLibrary := jsontext.Value(bytes.Clone(raw))
		if err := byLibrary.Canonicalize(); err != nil || !bytes.Equal(byLibrary, once) {
			t.Fatalf("got %s, the library has %s, %v", once, byLibrary, err)
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not stable: %s, %s, %v", once, twice, err)
		}
		if !exact(once) {
			t.Fatalf("canonical form is not exact: %s", once)
		}
	})
}
