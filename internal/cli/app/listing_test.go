package app

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNonNil(t *testing.T) {
	t.Parallel()
	for _, list := range [][]int{nil, {}, {1}} {
		out, err := json.Marshal(NonNil(list))
		if err != nil || !strings.HasPrefix(string(out), "[") {
			t.Errorf("%v is %s, %v", list, out, err)
		}
	}
}
