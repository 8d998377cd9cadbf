package memories

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// The directories of entries whose paths the store chooses. A call cannot choose a path in them.
const (
	goalsDir      = "/goals"
	todosPath     = "/todos"
	reasoningDir  = "/reasoning"
	dumpsDir      = "/dumps"
	rememberedDir = "/remembered"
)

var reserved = []string{goalsDir, todosPath, reasoningDir, dumpsDir, rememberedDir}

// clean returns the canonical form of a path of an entry, or capability.ErrMemoryPath. It adds a missing
// slash at the beginning, and removes a slash at the end.
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

// cleanDir does the same for a directory. It returns the root as "", which the statements expect.
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
