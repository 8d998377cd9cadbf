// Package historytest knows the recorded histories of calls: which there are,
// how they are kept and what must be seen in them.
//
// The files stand in workflows/testdata/history as <version>_<case>.json.gz.
// internal/e2etest records them on the real servers (`task history`), the tests
// of package workflows replay them. It must never change a file of a version
// other than its own: those are what is in flight out there. Only tests import it.
package historytest
