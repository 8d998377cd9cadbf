// Package answer protects the answers of activities that run tools, hooks and other code of users.
// It removes live secrets from each answer and signs the answer. If no worker has signed an
// answer, the package records it as forged.
package answer
