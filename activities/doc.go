// Package activities puts together the activities of a worker: everything that a call does
// outside of its workflow. Each part is a package of its own, and declares the interfaces that it
// needs. Packages below internal implement these interfaces.
//
// No text of an error or a panic, no raw output and no credential may leave an activity.
package activities
