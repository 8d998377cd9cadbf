package catalog_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// verbs holds the three styles of testdata/steps/tools.txt. For each letter of a verb it holds the
// name of a tool, with %s for the thing, and the start of its description.
var verbs = map[string]map[byte][2]string{
	"snake": {
		'c': {"create_%s", "Create %s."}, 'g': {"get_%s", "Get %s by id."}, 'l': {"list_%ss", "List %s with optional filters."},
		'u': {"update_%s", "Update %s."}, 'd': {"delete_%s", "Delete %s."},
	},
	"noun": {
		'c': {"%s_add", "Add %s."}, 'g': {"%s_show", "Show the details of %s."}, 'l': {"%s_find", "Find %s that match a query."},
		'u': {"%s_edit", "Edit %s."}, 'd': {"%s_remove", "Remove %s."},
	},
	"camel": {
		'c': {"new%s", "Make a new record of %s."}, 'g': {"fetch%s", "Fetch %s."}, 'l': {"search%ss", "Search %s."},
		'u': {"modify%s", "Modify %s."}, 'd': {"drop%s", "Destroy %s."},
	},
}

var verbEffects = map[byte]toolspec.Effect{
	'c': toolspec.StateChange, 'g': toolspec.ReadOnly, 'l': toolspec.ReadOnly, 'u': toolspec.StateChange, 'd': toolspec.StateChange,
}

// stepTools returns the specs that testdata/steps/tools.txt describes, and the tool id of each
// "server/tool" and "server/thing/verb" in the files of requests.
func stepTools(t testing.TB) (specs []toolspec.Spec, byRef map[string]string) {
	t.Helper()
	byRef = map[string]string{}
	var server, style string
	var tags []string
	add := func(ref, name string, effect toolspec.Effect, description, arguments string) {
		id := "mcp__" + server + "__" + name
		if err := toolspec.CheckToolID(id); err != nil || byRef[server+"/"+ref] != "" {
			t.Fatalf("%s: %v, or it occurs twice", id, err)
		}
		byRef[server+"/"+ref] = id
		specs = append(specs, toolspec.Spec{
			Name: id, Title: id, Effect: effect, Risk: toolspec.LowRisk, Tags: tags, Description: description, InputSchema: argumentSchema(t, arguments),
		})
	}
	for _, line := range stepLines(t, "tools.txt") {
		part := strings.Split(line, " | ")
		switch head, isServer := strings.CutPrefix(part[0], "## "); {
		case isServer && len(part) == 3:
			server, style, tags = head, part[1], strings.Split(part[2], ", ")
		case strings.HasPrefix(part[0], "! ") && len(part) == 4:
			name := part[0][2:]
			add(name, name, toolspec.Effect(part[1]), part[2], part[3])
		case len(part) == 4:
			one, many, _ := strings.Cut(part[0], ", ")
			for _, verb := range []byte(part[3]) {
				form := verbs[style][verb]
				thing, arguments := "a "+one, "id: id of the "+one
				if strings.ContainsRune("aeio", rune(one[0])) {
					thing = "an " + one
				}
				if verb == 'c' {
					arguments = part[2]
				}
				if verb == 'u' {
					arguments += "; " + part[2]
				}
				if verb == 'l' {
					thing = many
					first, _, _ := strings.Cut(part[2], "; ")
					arguments = first + "; query: words to look for; limit: most results"
				}
				add(one+"/"+string(verb), strings.Replace(form[0], "%s", inName(one, style), 1), verbEffects[verb],
					strings.Replace(form[1], "%s", thing, 1)+" "+part[1], arguments)
			}
		default:
			t.Fatalf("tools.txt: %q is not a tool", line)
		}
	}
	return specs, byRef
}

// inName formats a thing as part of a name.
func inName(thing, style string) string {
	if style != "camel" {
		return strings.ReplaceAll(thing, " ", "_")
	}
	var name strings.Builder
	for word := range strings.FieldsSeq(thing) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// argumentSchema returns the schema of "name: description {value, value}; …".
func argumentSchema(t testing.TB, arguments string) json.RawMessage {
	t.Helper()
	var properties bytes.Buffer
	for i, argument := range strings.Split(arguments, "; ") {
		name, description, ok := strings.Cut(argument, ": ")
		if !ok {
			t.Fatalf("%q is not an argument", argument)
		}
		schema := map[string]any{"type": "string"}
		if before, values, ok := strings.Cut(strings.TrimSuffix(description, "}"), " {"); ok {
			description, schema["enum"] = before, strings.Split(values, ", ")
		}
		schema["description"] = description
		doc, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			properties.WriteByte(',')
		}
		properties.WriteString(`"` + name + `":`)
		properties.Write(doc)
	}
	return json.RawMessage(`{"type":"object","properties":{` + properties.String() + `}}`)
}

// request is a request of a user. Each step needs one of its tools.
type request struct {
	text  string
	steps [][]string
}

// stepRequests reads a file of requests: requests with several steps, and requests with one.
func stepRequests(t testing.TB, name string, byRef map[string]string) (several, one []request) {
	t.Helper()
	for _, line := range stepLines(t, name) {
		text, right, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%s: %q is not a request", name, line)
		}
		r := request{text: text}
		for step := range strings.SplitSeq(right, ", ") {
			var wanted []string
			for ref := range strings.SplitSeq(step, "|") {
				if byRef[ref] == "" {
					t.Fatalf("%s: %q wants %s, which is no tool", name, text, ref)
				}
				wanted = append(wanted, byRef[ref])
			}
			r.steps = append(r.steps, wanted)
		}
		if len(r.steps) > 1 {
			several = append(several, r)
		} else {
			one = append(one, r)
		}
	}
	return several, one
}

func stepLines(t testing.TB, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "steps", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "# ") && line != "#" {
			lines = append(lines, line)
		}
	}
	return lines
}
