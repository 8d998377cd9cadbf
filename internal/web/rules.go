package web

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Bounds of a rule of robots.txt.
const (
	// maxRule is in bytes. maxStars bounds the wildcards.
	maxRule  = 2 << 10
	maxStars = 16
)

// rule is a line Allow or Disallow of robots.txt (RFC 9309).
type rule struct {
	allow bool
	// pattern is a path with the wildcards * and, at its end, $. The longest that matches counts.
	pattern string
}

// parseRobots returns the rules for Pawl, or for all programs if there are none for Pawl. It reads the lines
// User-agent, Allow and Disallow from the first User-agent on and ignores all others. A text that is no
// robots.txt has no rules.
func parseRobots(text []byte) []rule {
	text = bytes.TrimPrefix(text[:min(len(text), maxRobots)], []byte("\xef\xbb\xbf"))
	var own, general []rule
	hasOwn, isOwn, isGeneral, inAgents, lines := false, false, false, false, 0
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if lines++; lines > maxRobotLines {
			break
		}
		line, _, _ = bytes.Cut(line, []byte("#"))
		key, value, _ := strings.Cut(string(line), ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent", "useragent":
			if !inAgents {
				isOwn, isGeneral = false, false
			}
			inAgents = true
			name, _, _ := strings.Cut(value, "/")
			isOwn = isOwn || strings.EqualFold(strings.TrimSpace(name), agentName)
			isGeneral = isGeneral || value == "*"
			hasOwn = hasOwn || isOwn
		case "allow", "disallow":
			inAgents = false
			if isOwn {
				own = appendRule(own, key == "allow", value)
			}
			if isGeneral {
				general = appendRule(general, key == "allow", value)
			}
		}
	}
	if hasOwn {
		return own
	}
	return general
}

// appendRule adds the rule of a pattern, and the rule of its decoded form if that is another.
func appendRule(rules []rule, allow bool, pattern string) []rule {
	if pattern == "" || len(pattern) > maxRule {
		return rules
	}
	if pattern[0] != '/' && pattern[0] != '*' {
		pattern = "/" + pattern
	}
	forms := []string{encode(pattern)}
	// An encoded * or $ stands for itself and is no wildcard.
	if lower := strings.ToLower(pattern); !strings.Contains(lower, "%2a") && !strings.Contains(lower, "%24") {
		if decoded, err := url.PathUnescape(pattern); err == nil && encode(decoded) != forms[0] {
			forms = append(forms, encode(decoded))
		}
	}
	for _, form := range forms {
		for strings.Contains(form, "**") {
			form = strings.ReplaceAll(form, "**", "*")
		}
		if strings.Count(form, "*") <= maxStars {
			rules = append(rules, rule{allow, form})
		}
	}
	return rules
}

// matches reports whether a rule matches a path with its query.
func (r rule) matches(text string) bool {
	pattern, isWhole := strings.CutSuffix(r.pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, found := strings.CutPrefix(text, parts[0])
	if !found {
		return false
	}
	for i, part := range parts[1:] {
		if isWhole && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !isWhole || rest == ""
}

// allow reports whether the rules allow a URL: both as it is written, and decoded and without steps such as
// "..", since a server may read it so.
func (r *rules) allow(u *url.URL) bool {
	clean := path.Clean("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") && clean != "/" {
		clean += "/"
	}
	if u.RawQuery != "" {
		query, err := url.PathUnescape(u.RawQuery)
		if err != nil {
			query = u.RawQuery
		}
		clean += "?" + query
	}
	return r.allowText(encode(u.RequestURI())) && r.allowText(encode(clean))
}

// allowText reports whether the rules allow an encoded path with its query. The longest pattern that matches decides. If an
// allowing and a disallowing pattern have the same length, the text is allowed. Without a match, it is allowed.
func (r *rules) allowText(text string) bool {
	allowed, longest := true, 0
	for _, rule := range r.list {
		if size := len(rule.pattern); (size > longest || size == longest && rule.allow) && rule.matches(text) {
			allowed, longest = rule.allow, size
		}
	}
	return allowed
}

// encode writes spaces, control characters, # and all that is not ASCII in percent-encoding. It writes the
// digits of every percent-encoding in upper case.
func encode(text string) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		switch {
		case c <= ' ' || c >= 0x7f || c == '#':
			fmt.Fprintf(&b, "%%%02X", c)
		case i > 0 && text[i-1] == '%' || i > 1 && text[i-2] == '%':
			b.WriteString(strings.ToUpper(string(rune(c))))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
