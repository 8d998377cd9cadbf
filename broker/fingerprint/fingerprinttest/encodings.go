package fingerprinttest

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"mime/quotedprintable"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is a way to write a secret into a text.
type Encoding struct {
	Name string
	// Encode returns a text that holds a secret.
	Encode func(secret string) string
	// Bytes says that Encode can also write a secret that is not UTF-8.
	Bytes bool
	// Tears says that Encode tears the text apart or changes its letters. A secret that was encoded
	// before then cannot be found any more.
	Tears bool
	// Least is the length of the shortest secret that a search finds in this encoding, in bytes.
	Least int
}

// Takes reports whether the encoding can write a secret. XML, for example, has no control
// characters.
func (e Encoding) Takes(secret string) bool {
	return len(secret) >= e.Least && (e.Bytes || utf8.ValidString(secret) && !strings.ContainsRune(e.Encode(secret), utf8.RuneError))
}

// Encodings returns the encodings in which a text that a tool reads may hold a secret.
func Encodings() []Encoding {
	text := func(name string, encode func(string) string) Encoding {
		return Encoding{Name: name, Encode: func(s string) string { return "some text before " + encode(s) + " and some after" }}
	}
	tears := func(name string, encode func(string) string) Encoding {
		e := text(name, encode)
		e.Tears = true
		return e
	}
	binary := func(name string, encode func(string) string) Encoding {
		e := text(name, encode)
		e.Bytes = true
		return e
	}
	each := func(separator, format string) func(string) string {
		return func(s string) string { return Each(s, separator, format) }
	}
	mime := func(s string) string { return Lines(b64(s), 76) }
	found := []Encoding{
		binary("plain", func(s string) string { return s }),
		{Name: "alone", Encode: func(s string) string { return s }, Bytes: true},
		tears("upper", func(s string) string { return strings.Map(upper, s) }),
		{Name: "backwards", Encode: backwards, Bytes: true, Tears: true},

		text("html.escape, without quotes", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace),
		text("html.escape", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace),
		text("html.EscapeString", html.EscapeString),
		text("Mustache", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;").Replace),
		text("Handlebars", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;").Replace),
		text("OWASP encoder", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace),
		text("OWASP ESAPI", but(alphanumeric, "&#x%x;")),
		text("html/template", templated("{{.}}")),
		text("html/template attribute", templated(`<a title={{.}}>`)),
		text("html/template link", templated(`<a href="/?q={{.}}">`)),
		text("html/template script", templated(`<script>var s = {{.}}</script>`)),
		text("decimal entities", runes("&#%d;")),
		text("hexadecimal entities", runes("&#x%X;")),
		text("entities with zeros", runes("&#%07d;")),
		text("entities without semicolon", withoutSemicolon),
		text("named entities", strings.NewReplacer("&", "&AMP", "<", "&LT;", ">", "&gt;", "=", "&equals;", "/", "&sol;", "+", "&plus;", "ä", "&auml;", "_", "&lowbar;").Replace),
		text("entities of entities", func(s string) string { return html.EscapeString(html.EscapeString(s)) }),
		text("entities in JSON", func(s string) string { return JSON(runes("&#%d;")(s)) }),
		text("XML", xmlText),

		binary("percent", each("", "%%%02X")),
		binary("percent, small", each("", "%%%02x")),
		binary("url.QueryEscape", url.QueryEscape),
		binary("url.PathEscape", url.PathEscape),
		binary("urllib.parse.quote", percentBut(alphanumeric+"_.-~/")),
		binary("encodeURI", percentBut(alphanumeric+";,/?:@&=+$-_.!~*'()#")),
		binary("encodeURIComponent", percentBut(alphanumeric+"-_.!~*'()")),
		binary("url twice", func(s string) string { return url.QueryEscape(url.QueryEscape(s)) }),
		binary("url three times", func(s string) string { return url.PathEscape(url.PathEscape(url.PathEscape(s))) }),
		binary("percent twice", func(s string) string { return Each(Each(s, "", "%%%02X"), "", "%%%02x") }),
		text("escape", units("%%u%04X")),
		text("url in HTML", func(s string) string { return html.EscapeString("?a=1&b=" + url.QueryEscape(s)) }),
		text("HTML in a url", func(s string) string { return url.QueryEscape("<b>" + html.EscapeString(s) + "</b>") }),

		text("JSON", func(s string) string { return JSON(map[string]any{"n": 1, "text": "before " + s + " after"}) }),
		text("JSON, unescaped", func(s string) string { return unescaped(map[string]string{"a": s}) }),
		text("JSON in JSON", func(s string) string { return JSON(map[string]string{"args": JSON(map[string]string{"a": s})}) }),
		text("JSON in JSON in JSON", func(s string) string { return JSON(JSON(JSON(s))) }),
		text("JSON in a url", func(s string) string { return url.QueryEscape(JSON(map[string]string{"a": s})) }),
		text("JSON in HTML", func(s string) string { return html.EscapeString(JSON(map[string]string{"a": s})) }),
		text("JSON with slashes", func(s string) string { return strings.ReplaceAll(JSON(s), "/", `\/`) }),
		text("JSON name", func(s string) string { return JSON(map[string]int{s: 1}) }),
		text("JSON, signs as units", but(alphanumeric, `\u%04x`)),
		text("every unit", units(`\u%04x`)),
		text("braces", runes(`\u{%x}`)),
		text("eight digits", runes(`\U%08x`)),
		text("template.JSEscapeString", template.JSEscapeString),
		binary("strconv.Quote", strconv.Quote),
		binary("strconv.QuoteToASCII", strconv.QuoteToASCII),
		binary("hexadecimal escapes", each("", `\x%02x`)),
		binary("octal escapes", each("", `\%03o`)),
		text("regexp.QuoteMeta", regexp.QuoteMeta),
		text("shell", func(s string) string { return signs.ReplaceAllString(s, `\$0`) }),

		binary("quoted-printable", printable),
		binary("quoted-printable, all", func(s string) string { return Lines(Each(s+"=", "", "=%02X"), 75) }),
		{
			// A line may end within an escape.
			Name: "quoted-printable in JSON", Bytes: true, Tears: true,
			Encode: func(s string) string { return JSON(printable(strings.Repeat("filled ", 9) + s)) },
		},
	}
	for shift := range 3 {
		pad := "xyz"[:shift]
		for name, encoding := range map[string]*base64.Encoding{
			"base64": base64.StdEncoding, "base64url": base64.URLEncoding, "base64 raw": base64.RawStdEncoding, "base64url raw": base64.RawURLEncoding,
		} {
			found = append(found, binary(fmt.Sprint(name, " at ", shift), func(s string) string { return encoding.EncodeToString([]byte(pad + s + "tail")) }))
		}
		found = append(found,
			binary(fmt.Sprint("base64 of percents at ", shift), func(s string) string { return "pre"[:shift] + b64("a="+url.QueryEscape(s)) }),
			Encoding{Name: fmt.Sprint("base64 in short lines at ", shift), Encode: func(s string) string { return Lines(b64(pad+s+"tail"), 13) }, Bytes: true, Tears: true, Least: 10},
			binary(fmt.Sprint("base64 in lines at ", shift), func(s string) string { return mime(pad + s + strings.Repeat("tail", 20)) }),
		)
	}
	return append(found,
		text("base64 of HTML", func(s string) string { return b64("<p>" + runes("&#%d;")(s)) }),
		text("base64 of JSON, in lines", func(s string) string {
			return mime(JSON(map[string]string{"some": "other", "secret": s, "more": "text"}))
		}),
		text("base64 in JSON", func(s string) string { return strings.ReplaceAll(JSON(b64(JSON(s))), "/", `\/`) }),
		text("base64 in a url", func(s string) string { return url.QueryEscape(b64(JSON(s))) }),
		binary("base64 three times", func(s string) string { return b64(b64(b64("x" + s))) }),
		text("UTF-16", func(s string) string { return wide(s, 0) }),
		text("UTF-16, large end first", func(s string) string { return wide(s, 1) }),
		text("UTF-16 as base64", func(s string) string { return b64(wide(s, 1)) }),
		binary("hex", func(s string) string { return hex.EncodeToString([]byte(s)) }),
		binary("hex, large", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }),
		binary("bytea", func(s string) string { return `\x` + hex.EncodeToString([]byte(s)) }),
		text("hex of JSON", func(s string) string { return hex.EncodeToString([]byte(JSON(s))) }),
		binary("hex of percents", func(s string) string { return "a" + hex.EncodeToString([]byte(url.QueryEscape(s))) }),
		binary("hex dump", each(" ", "%02x")),
		binary("hex with colons", each(":", "%02X")),
		binary("hex list", each(",", "0x%02x")),
		binary("hex list of Go", func(s string) string { return fmt.Sprintf("%#v", []byte(s)) }),
		binary("hex list in lines", each(",\n\t", "0x%02X")),
		binary("decimal list", each(", ", "%d")),
		binary("bytes of Go", func(s string) string { return fmt.Sprint(numbers(s)) }),
		binary("bytes in JSON", func(s string) string { return JSON(map[string]any{"n": 300, "data": numbers(s)}) }),
		binary("octal list", each(" ", "%03o")),
		binary("octal list with zeros", each(", ", "0%03o")),
		binary("octal list of Python", each(", ", "0o%03o")),
		binary("gzip as base64", func(s string) string {
			return b64(packed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
		}),
		binary("gzip as hex", func(s string) string {
			return hex.EncodeToString([]byte(packed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })))
		}),
		binary("zlib as base64", func(s string) string {
			return b64(packed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }))
		}),
		text("gzip of HTML", func(s string) string {
			return b64(packed(html.EscapeString(s), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
		}),

		tears("halves in order", func(s string) string { a, b := Halves(s); return JSON([]string{"x", a, b, "y"}) }),
		tears("halves in the other order", func(s string) string { a, b := Halves(s); return JSON([]string{"x", b, a, "y"}) }),
		tears("halves in members", func(s string) string { a, b := Halves(s); return JSON(map[string]string{"a": b, "b": a}) }),
		tears("halves in JSON in JSON", func(s string) string {
			a, b := Halves(s)
			return JSON([]string{"first", JSON(map[string]any{"a": b, "n": 1000, "z": a}), "last"})
		}),
		tears("letters in the other order", func(s string) string {
			letters := strings.Split(s, "")
			slices.Reverse(letters)
			return JSON(letters)
		}),
	)
}

// signs matches the characters that may have a special meaning in a shell.
var signs = regexp.MustCompile(`[[:punct:] ]`)

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// but returns a function that writes each character in a format, except the characters of these.
func but(these, format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if strings.ContainsRune(these, r) {
				b.WriteRune(r)
				continue
			}
			for _, u := range utf16.Encode([]rune{r}) {
				if strings.HasPrefix(format, "&") {
					fmt.Fprintf(&b, format, r)
					break
				}
				fmt.Fprintf(&b, format, u)
			}
		}
		return b.String()
	}
}

func runes(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
}

// withoutSemicolon leaves out the semicolons of entities that browsers do not need: no digit
// follows them.
func withoutSemicolon(s string) string {
	entities := regexp.MustCompile(`&#(\d+);(\d?)`)
	return entities.ReplaceAllStringFunc(but(alphanumeric, "&#%d;")(s), func(found string) string {
		if last := found[len(found)-1]; last != ';' {
			return found
		}
		return strings.TrimSuffix(found, ";")
	})
}

func units(format string) func(string) string { return but("", format) }

func percentBut(these string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			if strings.IndexByte(these, c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		return b.String()
	}
}

// Each writes each byte in a format.
func Each(s, separator, format string) string {
	var b strings.Builder
	for i, c := range []byte(s) {
		if i > 0 {
			b.WriteString(separator)
		}
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// Lines cuts a text into lines.
func Lines(s string, width int) string {
	end := "\n"
	if strings.HasPrefix(s, "=") {
		end = "=\n"
	}
	var b strings.Builder
	for ; len(s) > width; s = s[width:] {
		b.WriteString(s[:width] + end)
	}
	return b.String() + s
}

// Halves cuts a text in two.
func Halves(s string) (first, second string) {
	r := []rune(s)
	return string(r[:len(r)/2]), string(r[len(r)/2:])
}

// JSON is a value in JSON, as Go writes it.
func JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// unescaped returns a value in JSON without the escapes that make it safe in HTML.
func unescaped(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

func templated(text string) func(string) string {
	t := template.Must(template.New("").Parse(text))
	return func(s string) string {
		var b strings.Builder
		if err := t.Execute(&b, s); err != nil {
			panic(err)
		}
		return b.String()
	}
}

func xmlText(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err)
	}
	return b.String()
}

func printable(s string) string {
	var b strings.Builder
	w := quotedprintable.NewWriter(&b)
	w.Binary = true
	_, err := w.Write([]byte("=" + s))
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

func packed(s string, pack func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := pack(&b)
	_, err := io.WriteString(w, strings.Repeat("some text ", 20)+s)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func numbers(s string) (n []int) {
	for _, c := range []byte(s) {
		n = append(n, int(c))
	}
	return n
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func upper(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

// wide returns a text in UTF-16. The low byte of each unit is at the place low, which is 0 or 1.
func wide(s string, low int) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(u), byte(u>>8)
		b = append(b, pair[:]...)
	}
	return string(b)
}
