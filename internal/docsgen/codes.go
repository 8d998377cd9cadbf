package docsgen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// codeTables writes the closed table of codes.
func codeTables(src *source) (map[string]string, error) {
	var rows [][]string
	for _, info := range toolspec.Codes() {
		again := ""
		if info.Retryable {
			again = "yes"
		}
		rows = append(rows, []string{
			code(string(info.Code)), string(info.Kind), again, strconv.Itoa(info.HTTP), strconv.Itoa(info.Exit), info.Meaning, info.Message,
		})
	}
	var kinds [][]string
	for _, c := range src.sets["Kind"] {
		if c.comment == "" {
			return nil, fmt.Errorf("the kind %s has no comment", c.name)
		}
		kinds = append(kinds, []string{c.value, strings.ToUpper(c.comment[:1]) + c.comment[1:] + "."})
	}
	return map[string]string{
		"codes": table([]string{"code", "kind", "another attempt may help", "HTTP", "exit", "meaning", "default message"}, rows),
		"kinds": table([]string{"kind", "meaning"}, kinds),
	}, nil
}
