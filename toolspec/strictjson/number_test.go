package strictjson

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestExactNumber(t *testing.T) {
	for literal, want := range map[string]bool{
		"0": true, "-0": true, "-0.0": true, "0e999999999999": true, "0.1": true, "1.10": true, "1e3": true, "-12.50": true,
		"1E400": false, "1e400": false, "-1e400": false, "1e-400": false, "5e-324": true, "4e-324": false,
		"9007199254740992": true, "9007199254740993": false, "9007199254740994": true,
		"0.1000000000000000055511151231257827": false,
		"123456789012345678":                   false, "123456789012345680": true,
		"1.7976931348623157e308": true, "1.7976931348623159e308": false, "1.7976931348623158e+308": false,
		"100000000000000000000": true, "1e1000000000": false, "1e-1000000000": false,
		"1e99999999999999999999": false, "1e-99999999999999999999": false, "0.30000000000000004": true,
		"1" + strings.Repeat("0", 2000): false, "0." + strings.Repeat("0", 2000): false,
	} {
		if got := ExactNumber(literal); got != want {
			t.Errorf("ExactNumber(%.40s) = %v", literal, got)
		}
	}
}

// exactByRat is the definition, for exponents that big.Rat can bear.
func exactByRat(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return false
	}
	text := jsontext.Value(strconv.FormatFloat(f, 'g', -1, 64))
	if err := text.Canonicalize(); err != nil {
		return false
	}
	a, _ := new(big.Rat).SetString(literal)
	b, _ := new(big.Rat).SetString(string(text))
	return a.Cmp(b) == 0
}

func FuzzExactNumber(f *testing.F) {
	for _, seed := range []string{"0.1", "-0", "1e3", "9007199254740993", "1e-400", "12.5e-3", "1e400", "0.00e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		if len(literal) > 200 || !json.Valid([]byte(literal)) || !strings.ContainsAny(literal[:1], "-0123456789") {
			return
		}
		if i := strings.IndexAny(literal, "eE"); i >= 0 {
			if exp, err := strconv.Atoi(strings.TrimPrefix(literal[i+1:], "+")); err != nil || exp > 2000 || exp < -2000 {
				_ = ExactNumber(literal)
				return
			}
		}
		if got, want := ExactNumber(literal), exactByRat(literal); got != want {
			t.Errorf("ExactNumber(%s) = %v, by big.Rat %v", literal, got, want)
		}
	})
}

// The text of every float64 in the canonical form must be exact itself.
func FuzzCanonicalFloatIsExact(f *testing.F) {
	f.Add(uint64(0x3fb999999999999a))
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := jsontext.Value(strconv.FormatFloat(v, 'g', -1, 64))
		if err := text.Canonicalize(); err != nil || !ExactNumber(string(text)) {
			t.Errorf("%s: %v", text, err)
		}
	})
}
