package filewatch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
)

// file is what is known of a file.
type file struct {
	size int64
	// modified is in nanoseconds since 1970-01-01 UTC.
	modified int64
}

// watched is what a worker knows for one trigger.
type watched struct {
	version string
	// known are the files as they were when they last were an event, or at the first look. nil means that nobody has looked.
	known map[string]file
	// moving are the files that the last look has found changed. A nil value is a file that was gone.
	moving map[string]*file
}

// change is a change that two looks have found.
type change struct {
	kind trigger.Change
	path string
	file
}

// compare returns the changes that this look has found as the look before did, and remembers the others.
func (w *watched) compare(found map[string]file) (settled []change) {
	moving := map[string]*file{}
	differs := func(path string, now *file, kind trigger.Change, shown file) {
		before, was := w.moving[path]
		if was && (before == nil) == (now == nil) && (now == nil || *before == *now) {
			settled = append(settled, change{kind, path, shown})
		}
		moving[path] = now
	}
	for path, now := range found {
		switch before, was := w.known[path]; {
		case !was:
			differs(path, &now, trigger.Created, now)
		case before != now:
			differs(path, &now, trigger.Modified, now)
		}
	}
	for path, before := range w.known {
		if _, is := found[path]; !is {
			differs(path, nil, trigger.Removed, before)
		}
	}
	w.moving = moving
	return settled
}

// settle makes changes part of what is known.
func (w *watched) settle(changes []change) {
	for _, c := range changes {
		delete(w.moving, c.path)
		if c.kind == trigger.Removed {
			delete(w.known, c.path)
			continue
		}
		w.known[c.path] = c.file
	}
}

// event returns the event of a change. Its id depends on the file and not on the worker: a worker that has seen less may take a change for the creation
// of the file.
func (c change) event() trigger.Event {
	id := fmt.Sprintf("%t\x00%d\x00%d\x00%s", c.kind == trigger.Removed, c.size, c.modified, c.path)
	sum := sha256.Sum256([]byte(id))
	data, err := json.Marshal(map[string]any{"event": c.kind, "file": map[string]any{
		"path": c.path, "size": c.size, "modifiedAt": time.Unix(0, c.modified).UTC().Format(time.RFC3339Nano),
	}})
	if err != nil {
		data = []byte("{}") // texts and numbers are JSON
	}
	return trigger.Event{ID: "file-" + hex.EncodeToString(sum[:16]), Data: data}
}
