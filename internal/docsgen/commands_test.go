package docsgen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/docsgen/pagetest"
)

var (
	// usedCommand matches the words behind pawl at the beginning of a command, up to its end.
	usedCommand  = regexp.MustCompile(`(?:^|[|;&(] *|[A-Z_]=\S* +| /)pawl((?: +[^\s|>;)&#]+)+)`)
	quotedCode   = regexp.MustCompile("`([^`]+)`")
	longFlag     = regexp.MustCompile(`--[a-z][a-z-]*`)
	commandWord  = regexp.MustCompile(`^[a-z][a-z-]*$`)
	helpSections = regexp.MustCompile(`(?m)^## (pawl[a-z -]*)$`)
)

// TestCommandsOfPagesExist: each command of pawl in quoted code and in a block of shell commands, even one that no test runs, exists with each of its
// flags.
func TestCommandsOfPagesExist(t *testing.T) {
	t.Parallel()
	help := helpOfCommands(t)
	seen := 0
	for _, page := range pagetest.Handbook(t, root) {
		wrong, n := wrongCommands(t, help, page)
		for _, w := range wrong {
			t.Error(w)
		}
		seen += n
	}
	if seen < 400 {
		t.Errorf("%d commands: some are not found", seen)
	}
}

// TestWrongCommands: commands and flags that do not exist are found.
func TestWrongCommands(t *testing.T) {
	t.Parallel()
	text := "`pawl show ID` `pawl shew ID` `pawl approvals --nothing` `pawl agent runs`\n\n" +
		"```text\nthe pawl turns\n```\n" +
		"```sh\nA=b pawl policy dance x | jq .\npawl policy apply f --actor x\npawl agent stop --run r # --why\n```\n" +
		"```sh\necho $(pawl dev --nothing-else)\npawl dev -- go test --race\n```\n"
	wrong, seen := wrongCommands(t, helpOfCommands(t), pagetest.Page{Path: "docs/a.md", Text: text})
	want := []string{
		"docs/a.md: there is no command pawl shew", "docs/a.md: pawl approvals has no flag --nothing",
		"docs/a.md: there is no command pawl policy dance", "docs/a.md: pawl policy apply has no flag --actor", "docs/a.md: pawl dev has no flag --nothing-else",
	}
	if strings.Join(wrong, "\n") != strings.Join(want, "\n") || seen != 9 {
		t.Errorf("of %d, found\n%s\nwant\n%s", seen, strings.Join(wrong, "\n"), strings.Join(want, "\n"))
	}
}

// helpOfCommands returns the help of each command by its name.
func helpOfCommands(t *testing.T) map[string]string {
	t.Helper()
	pages, err := commandPages()
	if err != nil {
		t.Fatal(err)
	}
	var unlisted strings.Builder // the list of commands leaves these out
	for _, name := range []string{"chaos", "load"} {
		if err := command([]string{name}, "", new([][]string), &unlisted); err != nil {
			t.Fatal(err)
		}
	}
	text, help := pages["commands"]+unlisted.String(), map[string]string{}
	for _, at := range helpSections.FindAllStringSubmatchIndex(text, -1) {
		body, _, _ := strings.Cut(text[at[1]:], "\n## ")
		help[text[at[2]:at[3]]] = body
	}
	return help
}

// wrongCommands returns what is wrong with the commands of a page, and how many it looked at.
func wrongCommands(t *testing.T, help map[string]string, page pagetest.Page) (wrong []string, seen int) {
	t.Helper()
	var texts []string
	for _, m := range quotedCode.FindAllStringSubmatch(pagetest.Prose(page.Text), -1) {
		if strings.HasPrefix(m[1], "pawl ") {
			texts = append(texts, m[1])
		}
	}
	for _, block := range page.Blocks(t) {
		if block.Language == "sh" {
			texts = slices.AppendSeq(texts, strings.Lines(block.Text))
		}
	}
	for _, text := range texts {
		for _, m := range usedCommand.FindAllStringSubmatch(text, -1) {
			seen++
			if fault := wrongCommand(help, strings.Fields(m[1])); fault != "" {
				wrong = append(wrong, page.Path+": "+fault)
			}
		}
	}
	return wrong, seen
}

// wrongCommand returns what is wrong with the words behind pawl, or "".
func wrongCommand(help map[string]string, words []string) string {
	name := "pawl"
	for len(words) > 0 && help[name+" "+words[0]] != "" {
		name, words = name+" "+words[0], words[1:]
	}
	for i, word := range words {
		switch {
		case word == "--":
			return ""
		case i == 0 && commandWord.MatchString(word) && strings.Contains(help[name], "Available Commands:"):
			return fmt.Sprintf("there is no command %s %s", name, word)
		}
		flag := longFlag.FindString(word)
		if strings.HasPrefix(word, "--") && !strings.Contains(help[name], flag+" ") {
			return fmt.Sprintf("%s has no flag %s", name, flag)
		}
	}
	return ""
}
