package weburl

import (
	"net/http"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com":                    "https://example.com/",
		"HTTPS://EXAMPLE.com.:443/a?b=c#d":       "https://example.com/a?b=c",
		"http://example.com:80/%2e%2e/x":         "http://example.com/%2e%2e/x",
		"http://example.com:443/":                "http://example.com:443/",
		"http://example.com:/":                   "http://example.com/",
		"https://bücher.example/":                "https://xn--bcher-kva.example/",
		"https://ｅｘａｍｐｌｅ．com/":                   "https://example.com/",
		"http://１２７。０．０．１/":                      "http://127.0.0.1/",
		"http://[2606:4700:0:0::1111]:8443/":     "http://[2606:4700::1111]:8443/",
		"http://127.0.0.1./":                     "http://127.0.0.1/",
		"https://_dmarc.example.com/":            "https://_dmarc.example.com/",
		"https://example.com/?u=http://a@b.test": "https://example.com/?u=http://a@b.test",
	} {
		u, err := Parse(text)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, u, err, want)
			continue
		}
		if again, err := Parse(u.String()); err != nil || again.String() != u.String() {
			t.Errorf("%s is read again as %v, %v", u, again, err)
		}
		// net/http must not read the host in another way.
		if req, err := http.NewRequest(http.MethodGet, u.String(), nil); err != nil || req.URL.Hostname() != u.Hostname() || req.Host != u.Host {
			t.Errorf("net/http reads %s as %v, %v", u, req, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"": errLength,
		"http://a.test/" + strings.Repeat("x", 2048):    errLength,
		"http://a.test/\xff":                            errLength,
		"file:///etc/passwd":                            errScheme,
		"gopher://a.test/":                              errScheme,
		"//a.test/":                                     errScheme,
		"a.test":                                        errScheme,
		"javascript:alert(1)":                           errScheme,
		"http:a.test":                                   errHost,
		"http:///etc":                                   errHost,
		"http://user@a.test/":                           errUser,
		"http://user:pass@a.test/":                      errUser,
		"http://good.test@evil.test/":                   errUser,
		"http://@a.test/":                               errUser,
		`http://good.test\@evil.test/`:                  errText,
		"http://a.test/ b":                              errText,
		"http://a.test/\r\nHost:b":                      errText,
		"http://a.test\x00.b.test/":                     errText,
		"http://a%2etest/":                              errSyntax,
		"http://%31%32%37.0.0.1/":                       errSyntax,
		"http://a%C3%BC.test/":                          nil, // decoded, and then as ü
		"http://2130706433/":                            errNumber,
		"http://0x7f000001/":                            errNumber,
		"http://0x7f.0.0.1/":                            errNumber,
		"http://0177.0.0.1/":                            errNumber,
		"http://127.1/":                                 errNumber,
		"http://127.0.0.1.1/":                           errNumber,
		"http://256.0.0.1/":                             errNumber,
		"http://0/":                                     errNumber,
		"http://a.0x/":                                  errNumber,
		"http://①②⑦.1/":                                 errNumber,
		"http://[::1%25lo]/":                            errHost,
		"http://[127.0.0.1]/":                           errSyntax,
		"http://[::ffff:127.0.0.1]/":                    errNumber,
		"http://[::ffff:8.8.8.8]/":                      errNumber,
		"http://[0:0:0:0:0:ffff:808:808]/":              errNumber,
		"http://[::1/":                                  errSyntax,
		"http://-a.test/":                               errHost,
		"http://a..test/":                               errHost,
		"http://a.test../":                              errHost,
		"http://./":                                     errHost,
		"http://a_b!.test/":                             errHost,
		"http://" + strings.Repeat("a", 64) + ".test/":  errHost,
		"http://" + strings.Repeat("a.", 130) + "test/": errHost,
		"http://a.test:0/":                              errPort,
		"http://a.test:65536/":                          errPort,
		"http://a.test:080/":                            errPort,
		"http://a.test:x/":                              errSyntax,
	} {
		if u, err := Parse(text); err != want {
			t.Errorf("%.60q: %v, %v, want %v", text, u, err, want)
		}
	}
}
