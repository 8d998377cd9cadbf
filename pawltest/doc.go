// Package pawltest is for tests of tools, hooks and policies.
//
// A [Call] runs in memory, in milliseconds, through the code that a worker runs: [Call.Run]
// makes one attempt of a tool, [Call.Probe] asks its probe, [Call.At] runs a hook at its stage,
// and [Call.Decide] asks a policy. [Cases] runs a file of policy cases. [Conforms] checks the
// contracts of tools.
//
//	got := pawltest.Call{Tool: orderStatus(shop), Args: `{"orderId":"A-1001"}`}.Run(t)
//
// [Start] runs whole calls, with retries and approvals, on a real Temporal server and a real
// Postgres:
//
//	p := pawltest.Start(t, pawltest.Options{Tools: []toolspec.Tool{orderStatus(shop)}})
//
// Only tests may import the package.
package pawltest
