// Package capacity has the steps that hold calls to the features and limits of a policy: feature
// flags, quotas and semaphores. All of them run on demand, so a call without a limit skips them.
// Settle and the sweeper free the tokens and slots that they take.
package capacity
