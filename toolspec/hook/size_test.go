package hook

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodedSize compares with the encoder that payloads are written by.
func TestEncodedSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab<>&\u2028\u2029é\"\\\n"))).Draw(t, "text")
		var plain []byte
		plain = append(plain, '"')
		for _, r := range text {
			switch r {
			case '"', '\\':
				plain = append(plain, '\\', byte(r))
			case '\n':
				plain = append(plain, '\\', 'n')
			default:
				plain = append(plain, string(r)...)
			}
		}
		plain = append(plain, '"')
		encoded, err := json.Marshal(json.RawMessage(plain))
		if err != nil {
			t.Fatal(err)
		}
		if got := EncodedSize(plain); got != len(encoded) {
			t.Fatalf("%q: size %d, encoded %d", plain, got, len(encoded))
		}
	})
}
