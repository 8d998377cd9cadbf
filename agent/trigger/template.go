package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pathForm is a path: names and numbers between dots. There is no other expression.
var pathForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,15}$`)

// piece is a text of a prompt, or a path.
type piece struct {
	text   string
	isPath bool
}

// pieces splits a prompt at its paths. It returns the different paths in their order.
func pieces(prompt string) (all []piece, paths []string, err error) {
	for rest := prompt; ; {
		before, after, found := strings.Cut(rest, "{{")
		if all = append(all, piece{text: before}); !found {
			if len(paths) > MaxValues {
				return nil, nil, fmt.Errorf("has more than %d different paths", MaxValues)
			}
			return all, paths, nil
		}
		path, more, closed := strings.Cut(after, "}}")
		path = strings.TrimSpace(path)
		switch {
		case !closed:
			return nil, nil, errors.New("has a {{ without }}")
		case !pathForm.MatchString(path):
			return nil, nil, errors.New("has a {{path}} that is not 1 to 16 names between dots, such as {{pull_request.title}} or {{commits.0.id}}; a name has 1 to 64 of letters, digits, _ and -")
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
		all, rest = append(all, piece{path, true}), more
	}
}

// lookup returns the value at a path. A name is a member of an object, and a number also the index of an array.
func lookup(event json.RawMessage, path string) (json.RawMessage, error) {
	value := event
	for name := range strings.SplitSeq(path, ".") {
		next, ok := member(value, name)
		if !ok {
			return nil, &RefusedError{fmt.Sprintf("the event has no value at {{%s}}", path)}
		}
		value = next
	}
	return value, nil
}

func member(value json.RawMessage, name string) (json.RawMessage, bool) {
	switch value = bytes.TrimLeft(value, " \t\r\n"); {
	case bytes.HasPrefix(value, []byte("{")):
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		found, ok := object[name]
		return found, ok
	case bytes.HasPrefix(value, []byte("[")):
		var array []json.RawMessage
		i, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(i) != name || json.Unmarshal(value, &array) != nil || i < 0 || i >= len(array) {
			return nil, false
		}
		return array[i], true
	}
	return nil, false
}
