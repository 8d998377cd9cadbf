// Package steps runs activities for workflow code: as local activities inside the
// workflow task, or as regular activities whose answers it checks. It sets the timeouts
// and retries of both.
//
// It does not depend on what an activity does. Package workflows decides the order of
// the steps.
package steps
