// Package capacity has the steps that hold calls to the features and limits of a policy: feature
// flags, quotas and semaphores. Each step runs only for calls that have such a feature or limit.
// Settle and the sweeper free the slots that the steps take, and give back the tokens of a call that
// made no attempt.
package capacity
