// Package historytest manages the recorded histories of calls. It lists the cases, reads
// and writes the files, and checks that a history shows its case.
//
// The files are in workflows/testdata/history. Their names are <version>_<case>.json.gz.
// Package internal/e2etest/histories records the histories on real servers (`task history`), and
// the tests of package workflows replay them. This package must never change a file of
// another version than Version: users may still run workflows with such histories. Only
// tests import it.
package historytest
