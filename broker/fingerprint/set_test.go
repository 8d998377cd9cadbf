package fingerprint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

func shapes() map[string]string { return fingerprinttest.Secrets() }

// all holds every shape.
func all(t *testing.T) *Set {
	t.Helper()
	s := &Set{}
	for label, secret := range shapes() {
		if err := s.Add(label, []byte(secret)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *Set) labelled(t *testing.T, value string) []string {
	t.Helper()
	var labels []string
	for _, m := range s.FindString(value) {
		labels = append(labels, m.Label)
	}
	return labels
}

// TestPieces is fault 49: a secret cut into chunks of one value.
func TestPieces(t *testing.T) {
	t.Parallel()
	s := all(t)
	for label, secret := range shapes() {
		if label == "bytes" || label == "like an entity" { // the cuts are within what looks like escapes
			continue
		}
		runes := []rune(secret)
		third := len(runes) / 3
		a, b, c := string(runes[:third]), string(runes[third:2*third]), string(runes[2*third:])
		for name, value := range map[string]any{
			"items":                 []string{"first", a, b, c, "last"},
			"members":               map[string]string{"a": a, "b": b, "c": c},
			"nested":                []any{map[string]any{"x": []string{a}, "y": b}, 1000, []any{c, true}},
			"args":                  map[string]any{"args": fmt.Sprintf(`[%q]`, "x"), "z": []any{a, b, c}},
			"letters":               strings.Split(secret, ""),
			"indented":              indented(t, map[string]string{"a": a, "b": b, "c": c}),
			"indented beside texts": map[string]any{"a": "first", "b": indented(t, map[string]any{"x": []string{a, b, c}}), "c": "last"},
			"indented twice":        indented(t, []string{indented(t, map[string]string{"a": a, "b": b, "c": c})}),
		} {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.labelled(t, string(text)); len(got) != 1 || got[0] != label {
				t.Errorf("%s as %s: found %q", label, name, got)
			}
		}
	}
	for name, text := range map[string]string{
		"spaces": "ghp_ 16C7 e42F 292c 6912 E771 0c83 8347 Ae17 8B4a",
		"go":     fmt.Sprint([]string{"ghp_16C7e42F292c69", "12E7710c838347Ae178B4a"}),
		"lines":  fingerprinttest.Lines("ghp_16C7e42F292c6912E7710c838347Ae178B4a", 7),
		"colons": "67:68:70:5f:31:36:43:37:65:34:32:46:32:39:32:63:36:39:31:32:45:37:37:31:30:63:38:33:38:33:34:37:41:65:31:37:38:42:34:61",
	} {
		m := s.FindString(text)
		if len(m) != 1 || m[0].Label != "github" || !strings.HasSuffix(m[0].Form, pieces) {
			t.Errorf("%s: found %v", name, m)
		}
		if clean := s.Redact("say: " + text + "."); clean != "say: [redacted]." && clean != "say: [[redacted]]." && clean != "say: \n[redacted]." {
			t.Errorf("%s: redacted as %q", name, clean)
		}
	}
}

// indented returns a value as JSON with line ends and indents.
func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInnocent: what is no secret is not found, however close.
func TestInnocent(t *testing.T) {
	t.Parallel()
	s := all(t)
	for label, secret := range shapes() {
		for i := range len(secret) {
			cut := secret[:i] + secret[i+1:]
			if label == "slashes" || label == "hexadecimal" || label == "emoji" || len(squeeze([]byte(cut), nil)) != len(squeeze([]byte(secret), nil)) {
				if m := s.FindString(cut); len(m) > 0 && cut != secret && !strings.Contains(cut, secret) {
					t.Errorf("%s without byte %d: found %v", label, i, m)
				}
			}
		}
	}
	for _, file := range []string{"set.go", "forms.go", "find.go", "redact.go", "doc.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Find(source); len(m) > 0 {
			t.Errorf("%s: found %v", file, m)
		}
		if s.Redact(string(source)) != string(source) {
			t.Errorf("%s was changed", file)
		}
	}
	// The first and the last character of base64 belong to the neighbours: two secrets that differ there alone are told apart by nobody,
	// but one of seven bytes more is.
	if m := s.FindString(base64.StdEncoding.EncodeToString([]byte("ghp_16C7e42F292c6912E7710c83"))); len(m) > 0 {
		t.Errorf("a part was found: %v", m)
	}
}

func TestTooPlain(t *testing.T) {
	t.Parallel()
	s := &Set{}
	for _, secret := range []string{"", "tiny!", "aB3$xY7", "00000000000000000000", "abcabcabcabc"} {
		err := s.Add("of the test", []byte(secret))
		if !errors.Is(err, ErrPlain) || secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", secret, err)
		}
	}
	if s.Len() != 0 || len(s.FindString("short")) > 0 || s.Redact("short") != "short" {
		t.Error("something was added")
	}
	var none *Set
	if none.Redact("text and more") != "text and more" {
		t.Error("no set redacts")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := &Set{}
	const secret = "0123456789abcdefghij"
	for range 2 {
		if err := s.Add("lease", []byte(secret)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add("same", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 2, 1} {
		if m := s.FindString("x" + secret); len(m) != want {
			t.Errorf("found %v, want %d", m, want)
		}
		s.Remove("lease")
	}
	s.Remove("lease")
	s.Remove("same")
	if m := s.FindString("x" + secret); len(m) != 0 || s.Len() != 0 || s.n != 0 || len(s.by) != 0 {
		t.Errorf("found %v; left: %d labels, %d forms", m, s.Len(), s.n)
	}
}

// TestNoSecretIsKept: a set holds digests, and the caller may clear what it gave.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	s, given := &Set{}, []byte("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
	if err := s.Add("github", given); err != nil {
		t.Fatal(err)
	}
	clear(given)
	if m := s.FindString(shapes()["github"]); len(m) != 1 {
		t.Errorf("found %v", m)
	}
	if dump := fmt.Sprintf("%#v %+v", s, s.labels["github"].forms); strings.Contains(strings.ToLower(dump), "16c7e42f") {
		t.Error("the set holds the secret")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := &Set{}
	const n = 2000
	secret := func(i int) string { return fmt.Sprintf("tok_live_%06d_abcdef", i*7919) }
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < n; i += 4 {
				if err := s.Add(fmt.Sprint(i), []byte(secret(i))); err != nil {
					t.Error(err)
				}
				s.FindString("nothing at all in this text")
			}
		})
	}
	wg.Wait()
	for _, i := range []int{0, 17, n - 1} {
		m := s.FindString("a" + base64.StdEncoding.EncodeToString([]byte("x"+secret(i))))
		if len(m) != 1 || m[0].Label != fmt.Sprint(i) {
			t.Errorf("%d: found %v", i, m)
		}
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := all(t)
	for text, want := range map[string]string{
		"GET https://api.example.com/?key=ghp_16C7e42F292c6912E7710c838347Ae178B4a&n=1: refused": "GET https://api.example.com/?key=[redacted]&n=1: refused",
		"aB3$xY7!aB3$xY7! twice":                                                                 "[redacted] twice",
		"aB3$xY7! and 9f86d081884c7d659a2feaa0c55ad015":                                          "[redacted] and [redacted]",
		"nothing to see here":                                                                    "nothing to see here",
		"<p>Bad key: " + html.EscapeString(shapes()["random"]) + "</p>":                          "<p>Bad key: [redacted]</p>",
		"?a=%201&key=" + url.QueryEscape(url.QueryEscape(shapes()["aws"])) + "&n=%202":           "?a=%201&key=[redacted]&n=%202",
		`{"a":"&lt;","b":"` + strings.ReplaceAll(shapes()["aws"], "/", `\/`) + `","c":"\u003c"}`: `{"a":"&lt;","b":"[redacted]","c":"\u003c"}`,
		url.QueryEscape(shapes()["aws"]) + " or " + html.EscapeString(shapes()["password"]):      "[redacted] or [redacted]",
		"in " + base64.StdEncoding.EncodeToString([]byte("&lt;"+shapes()["aws"]+"&gt;")) + ".":   "in Jmx0O[redacted]mZ3Q7.",
		`{"a":["ghp_16C7e42F29","2c6912E771","0c838347Ae178B4a"],"b":1}`:                         `{"a":["[redacted]"],"b":1}`,
		base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString([]byte("aB3$xY7!")))):        Redacted,
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("10000%02"), []byte("0"), []byte("0"), uint8(3)) // its escape means one byte
	f.Add([]byte("000!001%"), []byte(""), []byte("00"), uint8(3)) // it forms an escape with the text behind it
	for _, secret := range shapes() {
		f.Add([]byte(secret), []byte("before"), []byte("after"), uint8(0))
	}
	f.Fuzz(func(t *testing.T, secret, before, after []byte, way uint8) {
		s := &Set{}
		if s.Add("it", secret) != nil {
			return
		}
		text := append(append(bytes.Clone(before), secret...), after...)
		switch way % 4 {
		case 1:
			text = []byte(base64.StdEncoding.EncodeToString(text))
		case 2:
			text = []byte(hex.EncodeToString(text))
		case 3:
			text = []byte(url.QueryEscape(string(text)))
		}
		was := bytes.Clone(text)
		if m := s.Find(text); len(m) != 1 {
			t.Errorf("found %v in %q", m, text)
		}
		if !bytes.Equal(text, was) {
			t.Error("the value was changed")
		}
		if clean := s.Redact(string(text)); len(s.FindString(clean)) > 0 {
			t.Errorf("left in %q", clean)
		}
	})
}

// TestMixedEscapes escapes one character and not the next: the place of the secret is still known.
func TestMixedEscapes(t *testing.T) {
	t.Parallel()
	s := all(t)
	mixed := `gh\u0070_16C7e42F292c6912E7710c838347Ae178B4\u0061`
	for _, tc := range []struct{ name, text, clean string }{
		{"a value", `{"a":"x ` + mixed + `"}`, `{"a":"x [redacted]"}`},
		{"a name", `{"x":1,"` + mixed + `":2}`, `{"x":1,"[redacted]":2}`},
		{"deeper", `["{\"gh\\u0070_16C7e42F292c6912E7710c838347Ae178B4a\":0}"]`, `["{\"[redacted]\":0}"]`},
	} {
		if got := s.labelled(t, tc.text); len(got) != 1 || got[0] != "github" {
			t.Errorf("%s: found %q", tc.name, got)
		}
		if clean := s.Redact(tc.text); clean != tc.clean {
			t.Errorf("%s: redacted as %q, want %q", tc.name, clean, tc.clean)
		}
	}
}

// TestBesidePackedData: what is packed and innocent hides nothing that stands in front of it or behind it.
func TestBesidePackedData(t *testing.T) {
	t.Parallel()
	const secret = "aB3$xY7!kq"
	s := &Set{}
	if err := s.Add("it", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	write := func(pack func(io.Writer) io.WriteCloser, text string) string {
		var b strings.Builder
		w := pack(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	zip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	escaped := url.QueryEscape(secret)
	packed := map[string]string{
		"what looks packed": "\x78\x01Z . some text before ",
		"gzip":              write(zip, "nothing of importance"),
		"zlib":              write(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, "nothing of importance"),
	}
	for name, data := range packed {
		for _, value := range []string{data + escaped, escaped + data, data + " " + escaped + " " + data, data + write(zip, escaped)} {
			for encoding, text := range map[string]string{
				"base64": base64.StdEncoding.EncodeToString([]byte(value)), "hex": hex.EncodeToString([]byte(value)), "nothing": value,
			} {
				if len(s.FindString(text)) != 1 || len(s.FindString(s.Redact(text))) > 0 {
					t.Errorf("%s in %s is redacted as %q", name, encoding, s.Redact(text))
				}
			}
		}
	}
}
