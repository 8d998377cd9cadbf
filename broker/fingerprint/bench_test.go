package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

// answer is how large the results of the benchmarks are, in bytes.
const answer = 64 << 10

// results are what tools answer, without a secret.
func results(t testing.TB) map[string][]byte {
	t.Helper()
	var issues []any
	for i := range 200 {
		issues = append(issues, map[string]any{
			"id": 1000003 * i, "url": fmt.Sprintf("https://api.example.com/repos/acme/tool/issues/%d", i), "state": "open", "locked": false,
			"title": fmt.Sprintf("The worker \"%d\" stops <sometimes> & does not come back", i), "node_id": base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "05:Issue%d", i*7919)),
			"body": "Steps:\n1. start it\n2. wait\n\n```go\nfmt.Printf(\"%d\\n\", x)\n```\nsee https://example.com/a%20page?q=a%2Bb&n=1", "labels": []string{"bug", "p1"},
			"user":       map[string]any{"login": "octocat", "id": i, "avatar": "https://avatars.example.com/u/583231?v=4"},
			"created_at": "2026-11-03T12:00:00Z", "sha": fmt.Sprintf("%040x", i*104729),
		})
	}
	compact, err := json.Marshal(issues)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(issues, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var page, prose strings.Builder
	for i := range 400 {
		fmt.Fprintf(&page, "<tr class=\"row-%d\"><td><a href=\"/search?q=%s&amp;page=%d\" title='%s'>%s</a></td><td>&nbsp;%d&#37;</td></tr>\n", i%2,
			url.QueryEscape("a b/c+d"), i, "no &quot;title&quot;", html.EscapeString("Tom & \"Jerry\" <tj@example.com>"), i)
		prose.WriteString("A worker takes calls from a queue and runs them once, even where the network or the machine is lost on the way. ")
		fmt.Fprintf(&prose, "Call %d took %d ms; see internal/postgres/queries/claim.sql:%d.\n", i, i*37%911, i)
	}
	return map[string][]byte{
		"json": fill(string(compact)), "indented": fill(string(indented)), "html": fill(page.String()), "text": fill(prose.String()),
		"json in json": fill(strings.Repeat(fingerprinttest.JSON(map[string]string{"text": string(compact[:4000])}), 20)),
	}
}

func fill(s string) []byte {
	return []byte(strings.Repeat(s, answer/len(s)+1)[:answer])
}

// hostile are results that decoders have to work on.
func hostile() map[string][]byte {
	random := bytes.Repeat([]byte("\x8f\x13\xa7q\x00\xfeK"), answer)
	inBase64 := func(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }
	deep := random[:answer]
	for range 6 {
		deep = inBase64(deep)
	}
	return map[string][]byte{
		"percents": fill("%25"), "nested percents": fill("%25252525252525252541"), "entities": fill("&amp;"), "nested entities": fill("&amp;amp;amp;amp;lt;"),
		"numbers": fill("&#x26;#x26;#38;"), "backslashes": fill(`\\`), "units": fill(`\u005c`), "base64": inBase64(random)[:answer], "deep base64": deep[:answer],
		"hex": []byte(hex.EncodeToString(random))[:answer], "hex of hex": []byte(hex.EncodeToString([]byte(hex.EncodeToString(random))))[:answer],
		"quotes": fill(`"`), "strings": fill(`"a",`), "brackets": fill(`[{"`), "decimal": fill("103,"), "hex list": fill("0x67, "), "octal": fill(`\147`),
		"quoted-printable": fill("=3D"), "soft line ends": fill("=\n"), "ampersands": fill("&"), "lone percents": fill("%"), "lines of base64": fill(strings.Repeat("QUJD", 19) + "\n"),
		"all of it": fill(`"&amp;%2525\u0026=3D0x41, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="` + "\n"),
	}
}

func set(t testing.TB, n int) *Set {
	t.Helper()
	s := &Set{}
	for i := range n {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		if err := s.Add(fmt.Sprint(i), []byte("tok_live_"+base64.StdEncoding.EncodeToString(sum[:]))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// BenchmarkFindShort searches for a secret of 10 bytes in 64 KiB.
func BenchmarkFindShort(b *testing.B) {
	s := &Set{}
	if err := s.Add("short", []byte("aB3$xY7!kq")); err != nil {
		b.Fatal(err)
	}
	for name, text := range results(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Find(text)
			}
		})
	}
}

// BenchmarkFind reads 64 KiB in each round.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 100, 4096} {
		s := set(b, n)
		for _, kinds := range []map[string][]byte{results(b), hostile()} {
			for name, text := range kinds {
				b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						if m := s.Find(text); len(m) > 0 {
							b.Fatal("found")
						}
					}
				})
			}
		}
	}
}
