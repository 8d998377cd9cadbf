package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestStepsOf: how a request is split into steps.
func TestStepsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 nil,
		"read a file":                      nil,
		"bring Ana and Luis":               nil, // a step needs two words
		"publish 2.3 on acme.test":         nil, // a period inside a word splits nothing
		"and then, also, but; if - ":       nil,
		"read the file and send it to Ann": {"read the file", "and send it to Ann"},
		"Read the old file. Send a mail!\nClose the open issue": {"Read the old file.", "Send a mail!", "Close the open issue"},
		"1. read old files 2. send new mails":                   {"1. read old files 2.", "send new mails"}, // a number belongs to the step before it
		"list issues, close old ones, mail Ann a report":        {"list issues,", "close old ones,", "mail Ann a report"},
		"搜索文档。发送邮件":                                             {"搜索文档。", "发送邮件"},
		"\xff\xff read files \xff, send mails \xff":             {"\xff\xff read files \xff,", "send mails \xff"},
	} {
		var got []string
		for _, step := range catalog.StepsOf(text) {
			got = append(got, strings.TrimSpace(step))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := strings.Repeat("read the old file, ", 500)
	if got := catalog.StepsOf(many); len(got) != 8 || strings.Join(got, "") != many {
		t.Errorf("%d steps of 500 are %d bytes, want 8 with all %d", len(got), len(strings.Join(got, "")), len(many))
	}
}
