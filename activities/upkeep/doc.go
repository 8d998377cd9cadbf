// Package upkeep has the activities of the maintenance workflows. They do the work that
// belongs to no single call: they settle calls whose workflow has ended, apply retention,
// search closed histories for secrets, and seal credentials with a new key.
package upkeep
