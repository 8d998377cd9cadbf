package files

import (
	"errors"
	"runtime"
	"sync"
)

// maxOpenDirs is the number of open directories above which a new task does not keep its parent directory open. Such a task
// opens its directory by its path. A task with files of a directory always keeps that directory open.
const maxOpenDirs = 128

// helpers bounds the goroutines that all walks of the process start, so that many walks leave the processors to other work.
// The goroutine of the caller of a walk does not count.
var helpers = make(chan struct{}, runtime.GOMAXPROCS(0))

// task is a directory to read, or some files of a directory to visit.
type task struct {
	// dir is the open parent of the directory, or the directory of the files. It is nil for a
	// directory that must be opened by its path.
	dir *directory
	// path is the directory to read, and name its name in dir.
	path, name string
	rules      *ignoreRules // the rules that hold for path
	files      []string
}

// directory is an open directory. The tasks below it share it.
type directory struct {
	handle
	path  string
	holds int
}

// tasks is a stack of tasks on which several goroutines work.
type tasks struct {
	mu    sync.Mutex
	wake  sync.Cond
	stack []task
	busy  int // goroutines that run a task
	open  int // directories that are open
	err   error
	// panicked is what a task panicked with.
	panicked any
}

// errPanicked ends the work after a panic.
var errPanicked = errors.New("workspace: a visit panicked")

// work runs first and every task that is pushed meanwhile, until none is left or one fails. It
// returns the first error. A panic in a task is one in the caller's goroutine.
func (s *tasks) work(first task, run func(task) error) error {
	s.wake.L = &s.mu
	s.stack = []task{first}
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) - 1 {
		select {
		case helpers <- struct{}{}:
			group.Go(func() {
				defer func() { <-helpers }()
				s.loop(run)
			})
		default:
		}
	}
	s.loop(run)
	group.Wait()
	for _, t := range s.stack { // after an error
		s.release(t.dir)
	}
	if s.panicked != nil {
		panic(s.panicked)
	}
	return s.err
}

func (s *tasks) loop(run func(task) error) {
	for {
		t, ok := s.next()
		if !ok {
			return
		}
		s.done(t, s.guarded(run, t))
	}
}

// next takes the newest task, so that the stack stays as small as the tree is deep.
func (s *tasks) next() (task, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.stack) == 0 && s.busy > 0 && s.err == nil {
		s.wake.Wait()
	}
	if len(s.stack) == 0 || s.err != nil {
		return task{}, false
	}
	t := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	s.busy++
	return t, true
}

func (s *tasks) guarded(run func(task) error, t task) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.panicked, err = r, errPanicked
		}
	}()
	return run(t)
}

func (s *tasks) done(t task, err error) {
	s.release(t.dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	if s.busy--; s.busy == 0 || s.err != nil {
		s.wake.Broadcast()
	}
}

// push adds tasks. Each keeps its directory open.
func (s *tasks) push(todo []task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range todo {
		if t.files == nil && s.open > maxOpenDirs {
			t.dir = nil
		}
		if t.dir != nil {
			t.dir.holds++
		}
		s.stack = append(s.stack, t)
		s.wake.Signal()
	}
}

// hold returns an open directory with one hold. The directory closes when its last hold is released.
func (s *tasks) hold(h handle, path string) *directory {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &directory{handle: h, path: path, holds: 1}
}

// release ends one hold of d and closes d after the last hold. d may be nil.
func (s *tasks) release(d *directory) {
	if d == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.holds--; d.holds == 0 {
		s.open--
		d.close()
	}
}
