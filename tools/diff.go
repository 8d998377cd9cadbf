package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of previews, in bytes.
const (
	// maxCompared bounds a content that a preview shows in a diff. For a larger or binary content it shows the size and the digest.
	maxCompared = 1 << 20
	// maxDigested bounds a file that a preview reads.
	maxDigested = 256 << 20
)

// unified returns the unified diff of two texts, or "" if they are equal.
func unified(oldName, newName, oldText, newText string) string {
	oldName, newName = label(oldName), label(newName)
	diff, err := udiff.ToUnified(oldName, newName, oldText, udiff.Lines(oldText, newText), udiff.DefaultContextLines)
	if err != nil { // the library has found edits that do not fit the text
		return fmt.Sprintf("replaces the whole of %s\n", oldName)
	}
	return diff
}

// label returns a name as a diff shows it: quoted, as git does, if it could pose as a line of the diff.
func label(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// nothing is the name of a missing file in a diff.
const nothing = "/dev/null"

// content is the content of a file before or after a write.
type content struct {
	// text is set for a text of at most maxCompared bytes. isText says that it is set.
	text   string
	isText bool
	size   int64
	digest string
}

// whole describes a content that no diff shows, by its size and its digest.
func (c *content) whole() string { return fmt.Sprintf("%d bytes, SHA-256 %s", c.size, c.digest) }

// readContent reads r to its end. It keeps only a text that a diff can show.
func readContent(r io.Reader) (content, error) {
	hash := sha256.New()
	var head bytes.Buffer
	size, err := io.Copy(io.MultiWriter(hash, &headWriter{&head}), r)
	if err != nil {
		return content{}, err
	}
	c := content{size: size, digest: hex.EncodeToString(hash.Sum(nil))}
	if size <= maxCompared && isText(head.Bytes()) {
		c.text, c.isText = head.String(), true
	}
	return c, nil
}

// contentOf is readContent for a text in memory.
func contentOf(text string) *content {
	c, _ := readContent(strings.NewReader(text)) // never fails
	return &c
}

// headWriter keeps the first maxCompared bytes.
type headWriter struct{ head *bytes.Buffer }

// Write implements io.Writer.
func (w *headWriter) Write(p []byte) (int, error) {
	w.head.Write(p[:min(len(p), maxCompared-w.head.Len())])
	return len(p), nil
}

// readOld returns the content of a file, or nil if there is none.
func readOld(ctx context.Context, files capability.Files, path string) (*content, error) {
	file, _, err := files.Open(ctx, path, maxDigested)
	if errors.Is(err, capability.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	c, err := readContent(file)
	if errors.Is(err, capability.ErrTooLarge) {
		return nil, toolspec.Safef("the file has more than %d MiB", maxDigested>>20)
	}
	if err != nil {
		return nil, explain(err)
	}
	return &c, nil
}

// state returns the part of the State of a preview that describes a file: its digest, or capability.Absent.
func (c *content) state() string {
	if c == nil {
		return capability.Absent
	}
	return c.digest
}

// stateOf returns the State of a preview: the path to which the arguments lead, and what is found there, such as the
// digest of a file. An attempt that gets this State acts only at this path, and only if nothing has changed there.
func stateOf(resolved, found string) string { return resolved + "\x00" + found }

// approved returns the path at which an attempt acts, and what must be there, from the State of its preview. noLinks
// says that approvers have seen this path, so it must not lead through links. Without a State, at is the path in the
// arguments.
func approved(state, name string) (at, found string, noLinks bool) {
	resolved, found, _ := strings.Cut(state, "\x00")
	return cmp.Or(resolved, name), found, resolved != ""
}

// resolve returns the path to which a name leads. If this path differs from the name, line tells approvers so,
// because they see only the name in the arguments.
func resolve(ctx context.Context, files capability.Files, name string) (resolved, line string, err error) {
	if resolved, err = files.Resolve(ctx, name); err != nil {
		return "", "", explain(err)
	}
	return resolved, through(name, resolved), nil
}

// resolveParent is resolve for a path whose last part is not followed.
func resolveParent(ctx context.Context, files capability.Files, name string) (resolved, line string, err error) {
	if resolved, err = files.Resolve(ctx, path.Dir(path.Clean(name))); err != nil {
		return "", "", explain(err)
	}
	resolved = path.Join(resolved, path.Base(path.Clean(name)))
	return resolved, through(name, resolved), nil
}

// through returns a line for approvers if a name leads through a symbolic link, and otherwise "".
func through(name, resolved string) string {
	if path.Clean(name) == resolved {
		return ""
	}
	return fmt.Sprintf("%q leads through a symbolic link to %q\n", name, resolved)
}

// difference describes a write of a file, with a diff if its contents are texts. before is nil if the write creates the
// file, and after is nil if it deletes the file.
func difference(name string, before, after *content) string {
	var b strings.Builder
	switch {
	case before == nil:
		fmt.Fprintf(&b, "creates %q\n", name)
	case after == nil:
		fmt.Fprintf(&b, "deletes %q\n", name)
	case before.digest == after.digest:
		fmt.Fprintf(&b, "leaves %q as it is\n", name)
		return b.String()
	}
	if (before == nil || before.isText) && (after == nil || after.isText) {
		oldName, newName, oldText, newText := name, name, "", ""
		if before == nil {
			oldName = nothing
		} else {
			oldText = before.text
		}
		if after == nil {
			newName = nothing
		} else {
			newText = after.text
		}
		return b.String() + unified(oldName, newName, oldText, newText)
	}
	if before != nil {
		fmt.Fprintf(&b, "old content of %q: %s\n", name, before.whole())
	}
	if after != nil {
		fmt.Fprintf(&b, "new content of %q: %s\n", name, after.whole())
	}
	return b.String()
}
