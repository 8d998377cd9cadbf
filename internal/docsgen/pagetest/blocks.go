package pagetest

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block of code.
type Block struct {
	// Page is the path of the page below the root of the repository, and Line the
	// line of the block's first line of code.
	Page string
	Line int
	// Language and Kind are the first word behind the fence and the rest of that line.
	Language, Kind string
	// Text is the code.
	Text string
	// Setup is the code of the comment in front of the block, in the block's
	// language; SetupLine is its first line.
	Setup     string
	SetupLine int
	// Serves is the text that a program of the block prints when it serves. The
	// program runs until the end of the page.
	Serves string
	// NotRun says why no test runs the block.
	NotRun string
}

// String names the place of the block: page:line.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

var (
	fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?\n)```$")
	// stray is a fence that is not at the beginning of a line, so that no test would
	// see its block.
	stray = regexp.MustCompile("(?m)^[ \t>]+```")
)

// commands match a command in a block in which no test would find it: behind a prompt,
// or in a text.
var commands = map[string]*regexp.Regexp{
	"sh":   regexp.MustCompile(`(?m)^[ \t]*\$ .*`),
	"text": regexp.MustCompile(`(?m)^(?:[ \t]*[$#] |(?:[A-Z_]+=\S* +)*pawl ).*`),
}

// Prose returns a page without its blocks of code.
func Prose(text string) string { return fence.ReplaceAllString(text, "") }

// Blocks returns the blocks of a page in order. A block that tests would miss, and
// a comment in front of a block that says nothing to a test, is an error.
func Blocks(page, text string) ([]Block, error) {
	prose := Prose(text)
	if m := stray.FindString(prose); m != "" || strings.Contains(prose, "\n```") {
		return nil, fmt.Errorf("%s: a block is indented or has no end: tests find blocks by a fence at the beginning of a line", page)
	}
	var blocks []Block
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := Block{Page: page, Line: lineOf(text, at[4]), Text: text[at[4]:at[5]]}
		b.Language, b.Kind, _ = strings.Cut(text[at[2]:at[3]], " ")
		if command := commands[b.Language]; command != nil && command.MatchString(b.Text) {
			return nil, fmt.Errorf("%s: no test finds the command %q in a block of %s: write it into a block of sh, without a prompt", b, command.FindString(b.Text), b.Language)
		}
		b, err := withComments(b, text[:at[0]])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b, err)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// withComments returns the block with what the comments at the end of the text in
// front of it say.
func withComments(b Block, before string) (Block, error) {
	for {
		body, ok := strings.CutSuffix(strings.TrimSpace(before), "-->")
		begin := strings.LastIndex(body, "<!--")
		if !ok || begin < 0 {
			return b, nil
		}
		before, body = body[:begin], body[begin+len("<!--"):]
		head, code, _ := strings.Cut(body, "\n")
		name, value, _ := strings.Cut(strings.TrimSpace(head), ":")
		switch value = strings.TrimSpace(value); name {
		case "go", "sh":
			if name != b.Language {
				return b, fmt.Errorf("the comment in front of a block of %s holds %s", b.Language, name)
			}
			b.Setup, b.SetupLine = code, lineOf(before, len(before))+1
			continue
		case "serves":
			b.Serves = value
		case "not run":
			b.NotRun = value
		default:
			return b, nil // a mark of something else, such as a generated part
		}
		if b.Language != "sh" || value == "" || code != "" {
			return b, fmt.Errorf("%q belongs in front of a block of sh, with a text behind the colon", name)
		}
	}
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
