// Package devstacktest gives tests a real Postgres and a real Temporal. A test binary starts at most one of each, on first use.
//
//	func TestMain(m *testing.M) { devstacktest.Main(m) }
//
//	func TestSomething(t *testing.T) { url := devstacktest.Postgres(t) … }
//
// A test that stops or kills a server must start its own with OwnPostgres or OwnTemporal.
// It must never read addresses of servers from the environment. Only tests import it.
package devstacktest
