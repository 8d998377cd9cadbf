package memories

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// The directories of the kinds that calls cannot write at a path of their choice.
const (
	goalsDir      = "/goals"
	todosPath     = "/todos"
	reasoningDir  = "/reasoning"
	dumpsDir      = "/dumps"
	rememberedDir = "/remembered"
)

var reserved = []string{goalsDir, todosPath, reasoningDir, dumpsDir, rememberedDir}

// clean returns a path of an entry in its one form, or capability.ErrMemoryPath. A missing slash at
// the beginning is added, and one at the end is removed.
func clean(path string) (string, error) {
	path = strings.TrimSuffix(path, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if len(path) > capability.MaxMemoryPath || !utf8.ValidString(path) {
		return "", capability.ErrMemoryPath
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment == "" || segment == "." || segment == ".." || strings.TrimSpace(segment) != segment ||
			strings.ContainsFunc(segment, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return "", capability.ErrMemoryPath
		}
	}
	return path, nil
}

// cleanDir is clean for a directory, in the form that the statements take: the root is empty.
func cleanDir(path string) (string, error) {
	if strings.Trim(path, "/") == "" {
		return "", nil
	}
	return clean(path)
}

// isReserved reports whether a path is in a directory that other tools write.
func isReserved(path string) bool {
	for _, dir := range reserved {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}
