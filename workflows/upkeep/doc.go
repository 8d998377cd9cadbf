// Package upkeep holds the maintenance workflows, for tasks that no call does itself.
// Sweep settles calls whose workflow is over and deletes data past its retention.
// VerifyHistory searches closed histories for secrets. ResealSecrets seals every
// credential with a new key.
//
// Everybody with access to the namespace can start these workflows, so their inputs
// grant no rights: the activities use the namespace of their worker and the contents of
// the database.
package upkeep
