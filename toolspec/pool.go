package toolspec

import (
	"errors"
	"fmt"
	"strings"
)

// MaxPool bounds the name of a pool, in characters of a-z 0-9 -
const MaxPool = 40

// CheckPool reports whether a pool of workers can have this name: 1–40 characters of a-z 0-9 -, the
// first and the last of a-z 0-9.
func CheckPool(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a pool must not be empty")
	case len(name) > MaxPool:
		return fmt.Errorf("the name of a pool has %d characters; it must have 1–%d", len(name), MaxPool)
	case strings.ContainsFunc(name, notInPool) || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return errors.New("the name of a pool must have only the characters a-z 0-9 - and begin and end with one of a-z 0-9")
	}
	return nil
}

func notInPool(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// PoolQueue returns the task queue of a pool. The pool "" has the shared queue, on which every call starts.
func PoolQueue(pool string) string {
	if pool == "" {
		return TaskQueue
	}
	return TaskQueue + "-" + pool
}

// PoolOf returns the pool of a task queue: "" for the shared queue. ok is false for a queue that is no
// queue of Pawl's.
func PoolOf(queue string) (pool string, ok bool) {
	if queue == TaskQueue {
		return "", true
	}
	pool, ok = strings.CutPrefix(queue, TaskQueue+"-")
	return pool, ok && CheckPool(pool) == nil
}
