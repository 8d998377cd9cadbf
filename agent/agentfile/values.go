package agentfile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

// readInto reads one key.
type readInto = func(n *node, path string)

func (r *reader) line(into *string) readInto {
	return func(n *node, path string) { *into, _ = r.Text(n, path, agent.MaxLine) }
}

func (r *reader) formed(into *string, form *regexp.Regexp, otherwise string) readInto {
	return func(n *node, path string) {
		v, ok := r.Text(n, path, agent.MaxName)
		if ok && !form.MatchString(v) {
			r.Fail(n, path, "%s", otherwise)
		}
		*into = v
	}
}

func (r *reader) number(into *int, limit int64) readInto {
	return func(n *node, path string) { *into = int(r.Number(n, path, limit)) }
}

// instructions reads a text of several lines.
func (r *reader) instructions(n *node, path string) string {
	return r.prose(n, path, agent.MaxInstructions)
}

// description reads the text by which other agents know the agent.
func (r *reader) description(n *node, path string) string {
	return r.prose(n, path, agent.MaxDescription)
}

// prose reads a text for models. Nobody who reviews a file sees hidden characters, but a model does.
func (r *reader) prose(n *node, path string, limit int) string {
	v, ok := r.Scalar(n, path, "!!str", "text")
	if !ok {
		return ""
	}
	_, hidden := sanitize.Text(v)
	hidden = slices.DeleteFunc(hidden, func(kind string) bool { return kind == sanitize.RoleMarkers })
	switch {
	case strings.TrimSpace(v) == "" || len(v) > limit:
		r.Fail(n, path, "must have 1 to %d bytes", limit)
	case len(hidden) > 0:
		r.Fail(n, path, "has characters that are not shown (%s): remove them", strings.Join(hidden, ", "))
	}
	return v
}

// pathForm is a path that is the same in every reader, without escapes.
var pathForm = regexp.MustCompile(`^(/[A-Za-z0-9._~:-]+)*/?$`)

// url reads the base URL of an API, and returns it without a slash at its end.
func (r *reader) url(n *node, path string) string {
	v, ok := r.Text(n, path, weburl.MaxLength)
	if !ok {
		return ""
	}
	u, err := weburl.Parse(v)
	switch {
	case err != nil:
		r.Fail(n, path, "%v", err)
	case strings.ContainsAny(v, "?#"):
		r.Fail(n, path, "must have no query and no fragment: write members of requests into members")
	case !pathForm.MatchString(u.EscapedPath()) || slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }):
		r.Fail(n, path, "must have a plain path, such as /v1")
	default:
		return strings.TrimSuffix(u.String(), "/")
	}
	return ""
}

// json reads a JSON value. A number that the stored form could not repeat is a fault.
func (r *reader) json(n *node, path string) (json.RawMessage, bool) {
	before := len(r.Faults())
	value, ok := r.JSON(n, path)
	if ok {
		r.exactNumbers(n, path)
	}
	return value, ok && len(r.Faults()) == before
}

func (r *reader) exactNumbers(n *node, path string) {
	if tag := n.ShortTag(); (tag == "!!int" || tag == "!!float") && !strictjson.ExactNumber(n.Value) {
		r.Fail(n, path, "is a number that not every program reads the same; write it as text")
	}
	for _, child := range n.Content {
		r.exactNumbers(child, path)
	}
}

// seconds reads a duration, such as 30m or 7d.
func (r *reader) seconds(into *int) readInto {
	return func(n *node, path string) {
		const want = "must be a duration in whole seconds from 1s to 30d, such as 90s, 30m, 2h or 7d"
		v, ok := r.Text(n, path, 32)
		if !ok {
			return
		}
		d := document.Duration(v).Value()
		if d < time.Second || d > agent.MaxSeconds*time.Second || d%time.Second != 0 {
			r.Fail(n, path, want)
			return
		}
		*into = int(d / time.Second)
	}
}

// writeSeconds is the inverse of seconds.
func writeSeconds(seconds int) string {
	const day = 24 * 60 * 60
	if seconds%day == 0 {
		return strconv.Itoa(seconds/day) + "d"
	}
	return document.Brief(time.Duration(seconds) * time.Second)
}

var moneyForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,6})(?:\.([0-9]{1,6}))?$`)

// money reads US dollars with up to 6 decimals into millionths, without a float in between.
func (r *reader) money(into *int64) readInto {
	return func(n *node, path string) {
		if !r.Plain(n, path) {
			return
		}
		parts := moneyForm.FindStringSubmatch(n.Value)
		var amount int64
		if tag := n.ShortTag(); parts != nil && (tag == "!!int" || tag == "!!float") {
			// moneyForm allows only digits, at most 13.
			amount, _ = strconv.ParseInt(parts[1]+(parts[2] + "000000")[:6], 10, 64)
		}
		if amount < 1 || amount > agent.MaxMicroUSD {
			r.Fail(n, path, "must be US dollars from 0.000001 to %d, as a number such as 2.50", agent.MaxMicroUSD/1_000_000)
			return
		}
		*into = amount
	}
}

// writeMoney is the inverse of money.
func writeMoney(microUSD int64) string {
	cents := strconv.FormatInt(microUSD%1_000_000+1_000_000, 10)[1:]
	return strconv.FormatInt(microUSD/1_000_000, 10) + "." + cents[:2] + strings.TrimRight(cents[2:], "0")
}

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,8})(KB|MB)?$`)

var units = map[string]int{"": 1, "KB": 1 << 10, "MB": 1 << 20}

// contextBytes reads a size into bytes: a number of bytes, of KB or of MB (1024 and 1024² bytes), from
// agent.MinContextBytes to agent.MaxContextBytes.
func (r *reader) contextBytes(into *int) readInto {
	return func(n *node, path string) {
		if !r.Plain(n, path) {
			return
		}
		parts := sizeForm.FindStringSubmatch(n.Value)
		bytes := 0
		if tag := n.ShortTag(); parts != nil && (tag == "!!int" || tag == "!!str") {
			count, _ := strconv.Atoi(parts[1]) // sizeForm allows only digits, at most 9
			bytes = count * units[parts[2]]
		}
		if bytes < agent.MinContextBytes || bytes > agent.MaxContextBytes {
			r.Fail(n, path, "must be a size from %s to %s, such as 400KB", writeSize(agent.MinContextBytes), writeSize(agent.MaxContextBytes))
			return
		}
		*into = bytes
	}
}

// writeSize is the inverse of size.
func writeSize(bytes int) string {
	for _, unit := range []string{"MB", "KB"} {
		if bytes%units[unit] == 0 {
			return strconv.Itoa(bytes/units[unit]) + unit
		}
	}
	return strconv.Itoa(bytes)
}
